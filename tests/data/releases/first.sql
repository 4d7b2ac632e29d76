SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public._pgh_attach_context() RETURNS uuid
    LANGUAGE plpgsql
    AS $$
                    DECLARE
                        _pgh_context_id UUID;
                        _pgh_context_metadata JSONB;
                    BEGIN
                        BEGIN
                            SELECT INTO _pgh_context_id
                                CURRENT_SETTING('pghistory.context_id');
                            SELECT INTO _pgh_context_metadata
                                CURRENT_SETTING('pghistory.context_metadata');
                            EXCEPTION WHEN OTHERS THEN
                        END;
                        IF _pgh_context_id IS NOT NULL AND _pgh_context_metadata IS NOT NULL THEN
                            INSERT INTO pghistory_context (id, metadata, created_at, updated_at)
                                VALUES (_pgh_context_id, _pgh_context_metadata, NOW(), NOW())
                                ON CONFLICT (id) DO UPDATE
                                    SET metadata = EXCLUDED.metadata,
                                        updated_at = EXCLUDED.updated_at
                                    WHERE pghistory_context.metadata != EXCLUDED.metadata;
                            RETURN _pgh_context_id;
                        ELSE
                            RETURN NULL;
                        END IF;
                    END;
                $$;
CREATE FUNCTION public._pgtrigger_should_ignore(trigger_name name) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
                DECLARE
                    _pgtrigger_ignore TEXT[];
                    _result BOOLEAN;
                BEGIN
                    BEGIN
                        SELECT INTO _pgtrigger_ignore
                            CURRENT_SETTING('pgtrigger.ignore');
                        EXCEPTION WHEN OTHERS THEN
                    END;
                    IF _pgtrigger_ignore IS NOT NULL THEN
                        SELECT trigger_name = ANY(_pgtrigger_ignore)
                        INTO _result;
                        RETURN _result;
                    ELSE
                        RETURN FALSE;
                    END IF;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_4044e() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_40984() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_4de12() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_cd8c6() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_d5c94() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_append_only_d9ddb() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_58539() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ended_by", "ending_pods", "expires_at", "id", "justification", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ended_by", NEW."ending_pods", NEW."expires_at", NEW."id", NEW."justification", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_insert_insert_bdb36() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "approvals_decisionevent" ("approval_id", "decided_at", "digest", "id", "person_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "verdict") VALUES (NEW."approval_id", NEW."decided_at", NEW."digest", NEW."id", NEW."person_id", _pgh_attach_context(), NOW(), 'insert', NEW."id", NEW."reason", NEW."verdict"); RETURN NULL;
                END;
            $$;
CREATE FUNCTION public.pgtrigger_update_update_5b51d() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
                
                BEGIN
                    IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
                        IF (TG_OP = 'DELETE') THEN
                            RETURN OLD;
                        ELSE
                            RETURN NEW;
                        END IF;
                    END IF;
                    INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ended_by", "ending_pods", "expires_at", "id", "justification", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ended_by", NEW."ending_pods", NEW."expires_at", NEW."id", NEW."justification", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), 'update', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;
                END;
            $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.accounts_apitoken (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    name character varying(63) NOT NULL,
    prefix character varying(16) NOT NULL,
    digest character varying(64) NOT NULL,
    scopes character varying(32)[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    user_id bigint NOT NULL
);
ALTER TABLE public.accounts_apitoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_apitoken_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_membership (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    tenant_id bigint NOT NULL
);
ALTER TABLE public.accounts_membership ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_membership_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_tenant (
    id bigint NOT NULL,
    name character varying(63) NOT NULL,
    "group" character varying(128) NOT NULL
);
ALTER TABLE public.accounts_tenant ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_tenant_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_tenantnamespace (
    id bigint NOT NULL,
    cluster character varying(63) NOT NULL,
    namespace character varying(63) NOT NULL,
    tenant_id bigint NOT NULL
);
ALTER TABLE public.accounts_tenantnamespace ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_tenantnamespace_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user (
    id bigint NOT NULL,
    password character varying(128) NOT NULL,
    last_login timestamp with time zone,
    is_superuser boolean NOT NULL,
    username character varying(150) NOT NULL,
    first_name character varying(150) NOT NULL,
    last_name character varying(150) NOT NULL,
    email character varying(254) NOT NULL,
    is_staff boolean NOT NULL,
    is_active boolean NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    roles character varying(16)[] NOT NULL
);
CREATE TABLE public.accounts_user_groups (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    group_id integer NOT NULL
);
ALTER TABLE public.accounts_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
ALTER TABLE public.accounts_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.accounts_user_user_permissions (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.accounts_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.accounts_user_user_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_approval (
    id bigint NOT NULL,
    digest character varying(71) NOT NULL,
    policy_version integer NOT NULL,
    rule jsonb NOT NULL,
    reasons jsonb NOT NULL,
    needed smallint NOT NULL,
    role character varying(16) NOT NULL,
    approved_count smallint NOT NULL,
    is_open boolean NOT NULL,
    decide_by timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    claim_request_id bigint NOT NULL,
    CONSTRAINT approvals_approval_approved_count_check CHECK ((approved_count >= 0)),
    CONSTRAINT approvals_approval_needed_check CHECK ((needed >= 0)),
    CONSTRAINT approvals_approval_no_more_than_needed CHECK ((approved_count <= needed)),
    CONSTRAINT approvals_approval_policy_version_check CHECK ((policy_version >= 0))
);
ALTER TABLE public.approvals_approval ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_approval_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_decision (
    id bigint NOT NULL,
    verdict character varying(16) NOT NULL,
    reason text NOT NULL,
    digest character varying(71) NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    approval_id bigint NOT NULL,
    person_id bigint NOT NULL,
    CONSTRAINT approvals_decision_denied_with_reason CHECK (((NOT ((verdict)::text = 'deny'::text)) OR (NOT (reason = ''::text))))
);
ALTER TABLE public.approvals_decision ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_decision_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_decisionevent (
    pgh_id integer NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    verdict character varying(16) NOT NULL,
    reason text NOT NULL,
    digest character varying(71) NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    approval_id bigint NOT NULL,
    person_id bigint NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL
);
ALTER TABLE public.approvals_decisionevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_decisionevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_policyrule (
    id bigint NOT NULL,
    "position" smallint NOT NULL,
    name character varying(63) NOT NULL,
    document jsonb NOT NULL,
    policy_set_id bigint NOT NULL,
    CONSTRAINT approvals_policyrule_position_check CHECK (("position" >= 0))
);
ALTER TABLE public.approvals_policyrule ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_policyrule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.approvals_policyset (
    id bigint NOT NULL,
    version integer NOT NULL,
    note text NOT NULL,
    created_by character varying(150) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT approvals_policyset_version_check CHECK ((version >= 0))
);
ALTER TABLE public.approvals_policyset ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.approvals_policyset_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.audit_seal (
    number bigint NOT NULL,
    "table" character varying(63) NOT NULL,
    event_id bigint NOT NULL,
    object_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor character varying(150) NOT NULL,
    reason text NOT NULL,
    request_id character varying(64) NOT NULL,
    content jsonb NOT NULL,
    changes jsonb NOT NULL,
    is_routine boolean NOT NULL,
    previous character varying(64) NOT NULL,
    digest character varying(64) NOT NULL
);
CREATE TABLE public.auth_group (
    id integer NOT NULL,
    name character varying(150) NOT NULL
);
ALTER TABLE public.auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_group_permissions (
    id bigint NOT NULL,
    group_id integer NOT NULL,
    permission_id integer NOT NULL
);
ALTER TABLE public.auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_group_permissions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.auth_permission (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    content_type_id integer NOT NULL,
    codename character varying(100) NOT NULL
);
ALTER TABLE public.auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.auth_permission_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.claims_claimplan (
    id bigint NOT NULL,
    kind character varying(32) NOT NULL,
    namespace character varying(63) NOT NULL,
    name character varying(253) NOT NULL,
    manifest jsonb NOT NULL,
    defaulted jsonb NOT NULL,
    digest character varying(71) NOT NULL,
    class_pins jsonb NOT NULL,
    diagnostics jsonb NOT NULL,
    preview jsonb,
    revision bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    cluster_id bigint NOT NULL
);
ALTER TABLE public.claims_claimplan ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.claims_claimplan_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.claims_claimrequest (
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    acting_groups jsonb NOT NULL,
    state character varying(16) NOT NULL,
    submission_key uuid NOT NULL,
    request_id character varying(64) NOT NULL,
    object_uid character varying(64) NOT NULL,
    message text NOT NULL,
    lease_until timestamp with time zone,
    retry_at timestamp with time zone,
    attempt_count integer NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    plan_id bigint NOT NULL,
    requester_id bigint NOT NULL,
    tenant_id bigint NOT NULL,
    ending_pods jsonb NOT NULL,
    ended_by character varying(150) NOT NULL,
    expires_at timestamp with time zone,
    justification text NOT NULL,
    CONSTRAINT claims_claimrequest_state_known CHECK (((state)::text = ANY ((ARRAY['Draft'::character varying, 'Submitted'::character varying, 'PendingApproval'::character varying, 'Approved'::character varying, 'Denied'::character varying, 'Applying'::character varying, 'Active'::character varying, 'ApplyFailed'::character varying, 'Releasing'::character varying, 'Released'::character varying, 'Expired'::character varying, 'Revoked'::character varying, 'Cancelled'::character varying])::text[])))
);
ALTER TABLE public.claims_claimrequest ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.claims_claimrequest_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.claims_claimrequestevent (
    pgh_id integer NOT NULL,
    pgh_created_at timestamp with time zone NOT NULL,
    pgh_label text NOT NULL,
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    acting_groups jsonb NOT NULL,
    state character varying(16) NOT NULL,
    submission_key uuid NOT NULL,
    request_id character varying(64) NOT NULL,
    object_uid character varying(64) NOT NULL,
    message text NOT NULL,
    lease_until timestamp with time zone,
    retry_at timestamp with time zone,
    attempt_count integer NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    pgh_context_id uuid,
    pgh_obj_id bigint NOT NULL,
    plan_id bigint NOT NULL,
    requester_id bigint NOT NULL,
    tenant_id bigint NOT NULL,
    ending_pods jsonb NOT NULL,
    ended_by character varying(150) NOT NULL,
    expires_at timestamp with time zone,
    justification text NOT NULL
);
ALTER TABLE public.claims_claimrequestevent ALTER COLUMN pgh_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.claims_claimrequestevent_pgh_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.core_counter (
    id bigint NOT NULL,
    name character varying(80) NOT NULL,
    labels character varying(255) NOT NULL,
    value double precision NOT NULL
);
ALTER TABLE public.core_counter ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.core_counter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_content_type (
    id integer NOT NULL,
    app_label character varying(100) NOT NULL,
    model character varying(100) NOT NULL
);
ALTER TABLE public.django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_content_type_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_migrations (
    id bigint NOT NULL,
    app character varying(255) NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp with time zone NOT NULL
);
ALTER TABLE public.django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.django_migrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.django_session (
    session_key character varying(40) NOT NULL,
    session_data text NOT NULL,
    expire_date timestamp with time zone NOT NULL
);
CREATE TABLE public.inventory_allocation (
    id bigint NOT NULL,
    claim_namespace character varying(63) NOT NULL,
    claim_name character varying(253) NOT NULL,
    claim_uid character varying(64) NOT NULL,
    device_request character varying(128) NOT NULL,
    driver character varying(63) NOT NULL,
    pool character varying(253) NOT NULL,
    device character varying(63) NOT NULL,
    share_id character varying(64) NOT NULL,
    consumed_capacity jsonb NOT NULL,
    admin_access boolean NOT NULL,
    cluster_id bigint NOT NULL
);
ALTER TABLE public.inventory_allocation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inventory_allocation_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inventory_cluster (
    id bigint NOT NULL,
    name character varying(63) NOT NULL,
    kind character varying(16) NOT NULL,
    kubernetes_version character varying(64) NOT NULL,
    feature_gates jsonb NOT NULL,
    kubeconfig_encrypted text NOT NULL,
    context character varying(253) NOT NULL,
    revision bigint NOT NULL,
    kube_system_uid character varying(64) NOT NULL,
    heard_at timestamp with time zone,
    failed_at timestamp with time zone,
    failure text NOT NULL,
    kinds jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL
);
ALTER TABLE public.inventory_cluster ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inventory_cluster_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inventory_device (
    id bigint NOT NULL,
    driver character varying(63) NOT NULL,
    pool character varying(253) NOT NULL,
    name character varying(63) NOT NULL,
    slice_name character varying(253) NOT NULL,
    node_name character varying(253) NOT NULL,
    attributes jsonb NOT NULL,
    capacity jsonb NOT NULL,
    consumes_counters jsonb NOT NULL,
    taints jsonb NOT NULL,
    allow_multiple_allocations boolean NOT NULL,
    memory_bytes bigint,
    cluster_id bigint NOT NULL
);
ALTER TABLE public.inventory_device ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inventory_device_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inventory_kubeobject (
    id bigint NOT NULL,
    kind character varying(63) NOT NULL,
    namespace character varying(63) NOT NULL,
    name character varying(253) NOT NULL,
    uid character varying(64) NOT NULL,
    resource_version character varying(64) NOT NULL,
    pool character varying(320) NOT NULL,
    body jsonb NOT NULL,
    revision bigint NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    cluster_id bigint NOT NULL
);
ALTER TABLE public.inventory_kubeobject ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inventory_kubeobject_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inventory_pool (
    id bigint NOT NULL,
    driver character varying(63) NOT NULL,
    name character varying(253) NOT NULL,
    generation bigint NOT NULL,
    expected_slice_count bigint NOT NULL,
    seen_slice_count integer NOT NULL,
    node_name character varying(253) NOT NULL,
    verdict character varying(16) NOT NULL,
    problem text NOT NULL,
    cluster_id bigint NOT NULL
);
ALTER TABLE public.inventory_pool ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inventory_pool_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pghistory_context (
    id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    metadata jsonb NOT NULL
);
INSERT INTO public.accounts_user VALUES (1, 'pbkdf2_sha256$1000000$salt$gB+WRVjakDnIU8h8NIsGHNCKPWkPQPOH2VSQWxKZDsE=', NULL, false, 'first', '', '', '', false, true, '2026-11-30 05:05:14.704286+00', '{}');
INSERT INTO public.auth_permission VALUES (1, 'Can add permission', 1, 'add_permission');
INSERT INTO public.auth_permission VALUES (2, 'Can change permission', 1, 'change_permission');
INSERT INTO public.auth_permission VALUES (3, 'Can delete permission', 1, 'delete_permission');
INSERT INTO public.auth_permission VALUES (4, 'Can view permission', 1, 'view_permission');
INSERT INTO public.auth_permission VALUES (5, 'Can add group', 2, 'add_group');
INSERT INTO public.auth_permission VALUES (6, 'Can change group', 2, 'change_group');
INSERT INTO public.auth_permission VALUES (7, 'Can delete group', 2, 'delete_group');
INSERT INTO public.auth_permission VALUES (8, 'Can view group', 2, 'view_group');
INSERT INTO public.auth_permission VALUES (9, 'Can add content type', 3, 'add_contenttype');
INSERT INTO public.auth_permission VALUES (10, 'Can change content type', 3, 'change_contenttype');
INSERT INTO public.auth_permission VALUES (11, 'Can delete content type', 3, 'delete_contenttype');
INSERT INTO public.auth_permission VALUES (12, 'Can view content type', 3, 'view_contenttype');
INSERT INTO public.auth_permission VALUES (13, 'Can add counter', 4, 'add_counter');
INSERT INTO public.auth_permission VALUES (14, 'Can change counter', 4, 'change_counter');
INSERT INTO public.auth_permission VALUES (15, 'Can delete counter', 4, 'delete_counter');
INSERT INTO public.auth_permission VALUES (16, 'Can view counter', 4, 'view_counter');
INSERT INTO public.auth_permission VALUES (17, 'Can add seal', 5, 'add_seal');
INSERT INTO public.auth_permission VALUES (18, 'Can change seal', 5, 'change_seal');
INSERT INTO public.auth_permission VALUES (19, 'Can delete seal', 5, 'delete_seal');
INSERT INTO public.auth_permission VALUES (20, 'Can view seal', 5, 'view_seal');
INSERT INTO public.auth_permission VALUES (21, 'Can add user', 6, 'add_user');
INSERT INTO public.auth_permission VALUES (22, 'Can change user', 6, 'change_user');
INSERT INTO public.auth_permission VALUES (23, 'Can delete user', 6, 'delete_user');
INSERT INTO public.auth_permission VALUES (24, 'Can view user', 6, 'view_user');
INSERT INTO public.auth_permission VALUES (25, 'Can add membership', 7, 'add_membership');
INSERT INTO public.auth_permission VALUES (26, 'Can change membership', 7, 'change_membership');
INSERT INTO public.auth_permission VALUES (27, 'Can delete membership', 7, 'delete_membership');
INSERT INTO public.auth_permission VALUES (28, 'Can view membership', 7, 'view_membership');
INSERT INTO public.auth_permission VALUES (29, 'Can add tenant', 8, 'add_tenant');
INSERT INTO public.auth_permission VALUES (30, 'Can change tenant', 8, 'change_tenant');
INSERT INTO public.auth_permission VALUES (31, 'Can delete tenant', 8, 'delete_tenant');
INSERT INTO public.auth_permission VALUES (32, 'Can view tenant', 8, 'view_tenant');
INSERT INTO public.auth_permission VALUES (33, 'Can add tenant namespace', 9, 'add_tenantnamespace');
INSERT INTO public.auth_permission VALUES (34, 'Can change tenant namespace', 9, 'change_tenantnamespace');
INSERT INTO public.auth_permission VALUES (35, 'Can delete tenant namespace', 9, 'delete_tenantnamespace');
INSERT INTO public.auth_permission VALUES (36, 'Can view tenant namespace', 9, 'view_tenantnamespace');
INSERT INTO public.auth_permission VALUES (37, 'Can add allocation', 10, 'add_allocation');
INSERT INTO public.auth_permission VALUES (38, 'Can change allocation', 10, 'change_allocation');
INSERT INTO public.auth_permission VALUES (39, 'Can delete allocation', 10, 'delete_allocation');
INSERT INTO public.auth_permission VALUES (40, 'Can view allocation', 10, 'view_allocation');
INSERT INTO public.auth_permission VALUES (41, 'Can add cluster', 11, 'add_cluster');
INSERT INTO public.auth_permission VALUES (42, 'Can change cluster', 11, 'change_cluster');
INSERT INTO public.auth_permission VALUES (43, 'Can delete cluster', 11, 'delete_cluster');
INSERT INTO public.auth_permission VALUES (44, 'Can view cluster', 11, 'view_cluster');
INSERT INTO public.auth_permission VALUES (45, 'Can add device', 12, 'add_device');
INSERT INTO public.auth_permission VALUES (46, 'Can change device', 12, 'change_device');
INSERT INTO public.auth_permission VALUES (47, 'Can delete device', 12, 'delete_device');
INSERT INTO public.auth_permission VALUES (48, 'Can view device', 12, 'view_device');
INSERT INTO public.auth_permission VALUES (49, 'Can add pool', 13, 'add_pool');
INSERT INTO public.auth_permission VALUES (50, 'Can change pool', 13, 'change_pool');
INSERT INTO public.auth_permission VALUES (51, 'Can delete pool', 13, 'delete_pool');
INSERT INTO public.auth_permission VALUES (52, 'Can view pool', 13, 'view_pool');
INSERT INTO public.auth_permission VALUES (53, 'Can add kube object', 14, 'add_kubeobject');
INSERT INTO public.auth_permission VALUES (54, 'Can change kube object', 14, 'change_kubeobject');
INSERT INTO public.auth_permission VALUES (55, 'Can delete kube object', 14, 'delete_kubeobject');
INSERT INTO public.auth_permission VALUES (56, 'Can view kube object', 14, 'view_kubeobject');
INSERT INTO public.auth_permission VALUES (57, 'Can add context', 15, 'add_context');
INSERT INTO public.auth_permission VALUES (58, 'Can change context', 15, 'change_context');
INSERT INTO public.auth_permission VALUES (59, 'Can delete context', 15, 'delete_context');
INSERT INTO public.auth_permission VALUES (60, 'Can view context', 15, 'view_context');
INSERT INTO public.auth_permission VALUES (61, 'Can add events', 16, 'add_events');
INSERT INTO public.auth_permission VALUES (62, 'Can change events', 16, 'change_events');
INSERT INTO public.auth_permission VALUES (63, 'Can delete events', 16, 'delete_events');
INSERT INTO public.auth_permission VALUES (64, 'Can view events', 16, 'view_events');
INSERT INTO public.auth_permission VALUES (65, 'Can add middleware events', 17, 'add_middlewareevents');
INSERT INTO public.auth_permission VALUES (66, 'Can change middleware events', 17, 'change_middlewareevents');
INSERT INTO public.auth_permission VALUES (67, 'Can delete middleware events', 17, 'delete_middlewareevents');
INSERT INTO public.auth_permission VALUES (68, 'Can view middleware events', 17, 'view_middlewareevents');
INSERT INTO public.auth_permission VALUES (69, 'Can add claim plan', 18, 'add_claimplan');
INSERT INTO public.auth_permission VALUES (70, 'Can change claim plan', 18, 'change_claimplan');
INSERT INTO public.auth_permission VALUES (71, 'Can delete claim plan', 18, 'delete_claimplan');
INSERT INTO public.auth_permission VALUES (72, 'Can view claim plan', 18, 'view_claimplan');
INSERT INTO public.auth_permission VALUES (73, 'Can add claim request', 19, 'add_claimrequest');
INSERT INTO public.auth_permission VALUES (74, 'Can change claim request', 19, 'change_claimrequest');
INSERT INTO public.auth_permission VALUES (75, 'Can delete claim request', 19, 'delete_claimrequest');
INSERT INTO public.auth_permission VALUES (76, 'Can view claim request', 19, 'view_claimrequest');
INSERT INTO public.auth_permission VALUES (77, 'Can add claim request event', 20, 'add_claimrequestevent');
INSERT INTO public.auth_permission VALUES (78, 'Can change claim request event', 20, 'change_claimrequestevent');
INSERT INTO public.auth_permission VALUES (79, 'Can delete claim request event', 20, 'delete_claimrequestevent');
INSERT INTO public.auth_permission VALUES (80, 'Can view claim request event', 20, 'view_claimrequestevent');
INSERT INTO public.auth_permission VALUES (81, 'Can add api token', 21, 'add_apitoken');
INSERT INTO public.auth_permission VALUES (82, 'Can change api token', 21, 'change_apitoken');
INSERT INTO public.auth_permission VALUES (83, 'Can delete api token', 21, 'delete_apitoken');
INSERT INTO public.auth_permission VALUES (84, 'Can view api token', 21, 'view_apitoken');
INSERT INTO public.auth_permission VALUES (85, 'Can add policy set', 22, 'add_policyset');
INSERT INTO public.auth_permission VALUES (86, 'Can change policy set', 22, 'change_policyset');
INSERT INTO public.auth_permission VALUES (87, 'Can delete policy set', 22, 'delete_policyset');
INSERT INTO public.auth_permission VALUES (88, 'Can view policy set', 22, 'view_policyset');
INSERT INTO public.auth_permission VALUES (89, 'Can add approval', 23, 'add_approval');
INSERT INTO public.auth_permission VALUES (90, 'Can change approval', 23, 'change_approval');
INSERT INTO public.auth_permission VALUES (91, 'Can delete approval', 23, 'delete_approval');
INSERT INTO public.auth_permission VALUES (92, 'Can view approval', 23, 'view_approval');
INSERT INTO public.auth_permission VALUES (93, 'Can add decision', 24, 'add_decision');
INSERT INTO public.auth_permission VALUES (94, 'Can change decision', 24, 'change_decision');
INSERT INTO public.auth_permission VALUES (95, 'Can delete decision', 24, 'delete_decision');
INSERT INTO public.auth_permission VALUES (96, 'Can view decision', 24, 'view_decision');
INSERT INTO public.auth_permission VALUES (97, 'Can add decision event', 25, 'add_decisionevent');
INSERT INTO public.auth_permission VALUES (98, 'Can change decision event', 25, 'change_decisionevent');
INSERT INTO public.auth_permission VALUES (99, 'Can delete decision event', 25, 'delete_decisionevent');
INSERT INTO public.auth_permission VALUES (100, 'Can view decision event', 25, 'view_decisionevent');
INSERT INTO public.auth_permission VALUES (101, 'Can add policy rule', 26, 'add_policyrule');
INSERT INTO public.auth_permission VALUES (102, 'Can change policy rule', 26, 'change_policyrule');
INSERT INTO public.auth_permission VALUES (103, 'Can delete policy rule', 26, 'delete_policyrule');
INSERT INTO public.auth_permission VALUES (104, 'Can view policy rule', 26, 'view_policyrule');
INSERT INTO public.auth_permission VALUES (105, 'Can add session', 27, 'add_session');
INSERT INTO public.auth_permission VALUES (106, 'Can change session', 27, 'change_session');
INSERT INTO public.auth_permission VALUES (107, 'Can delete session', 27, 'delete_session');
INSERT INTO public.auth_permission VALUES (108, 'Can view session', 27, 'view_session');
INSERT INTO public.django_content_type VALUES (1, 'auth', 'permission');
INSERT INTO public.django_content_type VALUES (2, 'auth', 'group');
INSERT INTO public.django_content_type VALUES (3, 'contenttypes', 'contenttype');
INSERT INTO public.django_content_type VALUES (4, 'core', 'counter');
INSERT INTO public.django_content_type VALUES (5, 'audit', 'seal');
INSERT INTO public.django_content_type VALUES (6, 'accounts', 'user');
INSERT INTO public.django_content_type VALUES (7, 'accounts', 'membership');
INSERT INTO public.django_content_type VALUES (8, 'accounts', 'tenant');
INSERT INTO public.django_content_type VALUES (9, 'accounts', 'tenantnamespace');
INSERT INTO public.django_content_type VALUES (10, 'inventory', 'allocation');
INSERT INTO public.django_content_type VALUES (11, 'inventory', 'cluster');
INSERT INTO public.django_content_type VALUES (12, 'inventory', 'device');
INSERT INTO public.django_content_type VALUES (13, 'inventory', 'pool');
INSERT INTO public.django_content_type VALUES (14, 'inventory', 'kubeobject');
INSERT INTO public.django_content_type VALUES (15, 'pghistory', 'context');
INSERT INTO public.django_content_type VALUES (16, 'pghistory', 'events');
INSERT INTO public.django_content_type VALUES (17, 'pghistory', 'middlewareevents');
INSERT INTO public.django_content_type VALUES (18, 'claims', 'claimplan');
INSERT INTO public.django_content_type VALUES (19, 'claims', 'claimrequest');
INSERT INTO public.django_content_type VALUES (20, 'claims', 'claimrequestevent');
INSERT INTO public.django_content_type VALUES (21, 'accounts', 'apitoken');
INSERT INTO public.django_content_type VALUES (22, 'approvals', 'policyset');
INSERT INTO public.django_content_type VALUES (23, 'approvals', 'approval');
INSERT INTO public.django_content_type VALUES (24, 'approvals', 'decision');
INSERT INTO public.django_content_type VALUES (25, 'approvals', 'decisionevent');
INSERT INTO public.django_content_type VALUES (26, 'approvals', 'policyrule');
INSERT INTO public.django_content_type VALUES (27, 'sessions', 'session');
INSERT INTO public.django_migrations VALUES (1, 'core', '0001_counters', '2026-11-30 05:05:07.685372+00');
INSERT INTO public.django_migrations VALUES (2, 'audit', '0001_initial', '2026-11-30 05:05:07.757388+00');
INSERT INTO public.django_migrations VALUES (3, 'contenttypes', '0001_initial', '2026-11-30 05:05:07.818513+00');
INSERT INTO public.django_migrations VALUES (4, 'contenttypes', '0002_remove_content_type_name', '2026-11-30 05:05:07.828619+00');
INSERT INTO public.django_migrations VALUES (5, 'auth', '0001_initial', '2026-11-30 05:05:07.917485+00');
INSERT INTO public.django_migrations VALUES (6, 'auth', '0002_alter_permission_name_max_length', '2026-11-30 05:05:07.934209+00');
INSERT INTO public.django_migrations VALUES (7, 'auth', '0003_alter_user_email_max_length', '2026-11-30 05:05:07.945696+00');
INSERT INTO public.django_migrations VALUES (8, 'auth', '0004_alter_user_username_opts', '2026-11-30 05:05:07.95837+00');
INSERT INTO public.django_migrations VALUES (9, 'auth', '0005_alter_user_last_login_null', '2026-11-30 05:05:07.968648+00');
INSERT INTO public.django_migrations VALUES (10, 'auth', '0006_require_contenttypes_0002', '2026-11-30 05:05:07.977358+00');
INSERT INTO public.django_migrations VALUES (11, 'auth', '0007_alter_validators_add_error_messages', '2026-11-30 05:05:07.984754+00');
INSERT INTO public.django_migrations VALUES (12, 'auth', '0008_alter_user_username_max_length', '2026-11-30 05:05:08.000952+00');
INSERT INTO public.django_migrations VALUES (13, 'auth', '0009_alter_user_last_name_max_length', '2026-11-30 05:05:08.012538+00');
INSERT INTO public.django_migrations VALUES (14, 'auth', '0010_alter_group_name_max_length', '2026-11-30 05:05:08.026592+00');
INSERT INTO public.django_migrations VALUES (15, 'auth', '0011_update_proxy_permissions', '2026-11-30 05:05:08.037726+00');
INSERT INTO public.django_migrations VALUES (16, 'auth', '0012_alter_user_first_name_max_length', '2026-11-30 05:05:08.049257+00');
INSERT INTO public.django_migrations VALUES (17, 'accounts', '0001_initial', '2026-11-30 05:05:08.281397+00');
INSERT INTO public.django_migrations VALUES (18, 'inventory', '0001_initial', '2026-11-30 05:05:08.644791+00');
INSERT INTO public.django_migrations VALUES (19, 'pghistory', '0001_initial', '2026-11-30 05:05:08.786597+00');
INSERT INTO public.django_migrations VALUES (20, 'pghistory', '0002_aggregateevent', '2026-11-30 05:05:08.791325+00');
INSERT INTO public.django_migrations VALUES (21, 'pghistory', '0003_auto_20201023_1636', '2026-11-30 05:05:08.807088+00');
INSERT INTO public.django_migrations VALUES (22, 'pghistory', '0004_auto_20220906_1625', '2026-11-30 05:05:08.866095+00');
INSERT INTO public.django_migrations VALUES (23, 'pghistory', '0005_events_middlewareevents', '2026-11-30 05:05:08.877832+00');
INSERT INTO public.django_migrations VALUES (24, 'pghistory', '0006_delete_aggregateevent', '2026-11-30 05:05:08.881122+00');
INSERT INTO public.django_migrations VALUES (25, 'pghistory', '0007_auto_20250421_0444', '2026-11-30 05:05:08.922552+00');
INSERT INTO public.django_migrations VALUES (26, 'claims', '0001_initial', '2026-11-30 05:05:09.141516+00');
INSERT INTO public.django_migrations VALUES (27, 'accounts', '0002_api_tokens', '2026-11-30 05:05:09.379978+00');
INSERT INTO public.django_migrations VALUES (28, 'claims', '0002_ending_pods', '2026-11-30 05:05:09.492214+00');
INSERT INTO public.django_migrations VALUES (29, 'claims', '0003_privileged', '2026-11-30 05:05:10.049362+00');
INSERT INTO public.django_migrations VALUES (30, 'approvals', '0001_initial', '2026-11-30 05:05:10.569393+00');
INSERT INTO public.django_migrations VALUES (31, 'sessions', '0001_initial', '2026-11-30 05:05:10.927641+00');
INSERT INTO public.inventory_cluster VALUES (1, 'demo', 'offline', '1.37.2', '{}', '', '', 1, '', NULL, NULL, '', '{}', '2026-11-30 05:05:14.718254+00');
INSERT INTO public.inventory_pool VALUES (1, 'gpu.nvidia.com', 'node-1', 1, 1, 1, 'node-1', 'complete', '', 1);
SELECT pg_catalog.setval('public.accounts_apitoken_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_membership_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_tenant_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_tenantnamespace_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_user_groups_id_seq', 1, false);
SELECT pg_catalog.setval('public.accounts_user_id_seq', 1, true);
SELECT pg_catalog.setval('public.accounts_user_user_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_approval_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_decision_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_decisionevent_pgh_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_policyrule_id_seq', 1, false);
SELECT pg_catalog.setval('public.approvals_policyset_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_group_permissions_id_seq', 1, false);
SELECT pg_catalog.setval('public.auth_permission_id_seq', 108, true);
SELECT pg_catalog.setval('public.claims_claimplan_id_seq', 1, false);
SELECT pg_catalog.setval('public.claims_claimrequest_id_seq', 1, false);
SELECT pg_catalog.setval('public.claims_claimrequestevent_pgh_id_seq', 1, false);
SELECT pg_catalog.setval('public.core_counter_id_seq', 1, false);
SELECT pg_catalog.setval('public.django_content_type_id_seq', 27, true);
SELECT pg_catalog.setval('public.django_migrations_id_seq', 31, true);
SELECT pg_catalog.setval('public.inventory_allocation_id_seq', 1, false);
SELECT pg_catalog.setval('public.inventory_cluster_id_seq', 1, true);
SELECT pg_catalog.setval('public.inventory_device_id_seq', 1, false);
SELECT pg_catalog.setval('public.inventory_kubeobject_id_seq', 1, false);
SELECT pg_catalog.setval('public.inventory_pool_id_seq', 1, true);
ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_once UNIQUE (user_id, tenant_id);
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_tenantnamespace
    ADD CONSTRAINT accounts_namespace_one_tenant UNIQUE (cluster, namespace);
ALTER TABLE ONLY public.accounts_tenant
    ADD CONSTRAINT accounts_tenant_group_key UNIQUE ("group");
ALTER TABLE ONLY public.accounts_tenant
    ADD CONSTRAINT accounts_tenant_name_key UNIQUE (name);
ALTER TABLE ONLY public.accounts_tenant
    ADD CONSTRAINT accounts_tenant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_tenantnamespace
    ADD CONSTRAINT accounts_tenantnamespace_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_group_id_59c0b32f_uniq UNIQUE (user_id, group_id);
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permi_user_id_permission_id_2ab516c2_uniq UNIQUE (user_id, permission_id);
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.accounts_user
    ADD CONSTRAINT accounts_user_username_key UNIQUE (username);
ALTER TABLE ONLY public.approvals_approval
    ADD CONSTRAINT approvals_approval_claim_request_id_key UNIQUE (claim_request_id);
ALTER TABLE ONLY public.approvals_approval
    ADD CONSTRAINT approvals_approval_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_once UNIQUE (approval_id, person_id);
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_decisionevent
    ADD CONSTRAINT approvals_decisionevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.approvals_policyrule
    ADD CONSTRAINT approvals_policyrule_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_policyset
    ADD CONSTRAINT approvals_policyset_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.approvals_policyset
    ADD CONSTRAINT approvals_policyset_version_key UNIQUE (version);
ALTER TABLE ONLY public.approvals_policyrule
    ADD CONSTRAINT approvals_rule_name UNIQUE (policy_set_id, name);
ALTER TABLE ONLY public.approvals_policyrule
    ADD CONSTRAINT approvals_rule_position UNIQUE (policy_set_id, "position");
ALTER TABLE ONLY public.audit_seal
    ADD CONSTRAINT audit_seal_event_once UNIQUE ("table", event_id);
ALTER TABLE ONLY public.audit_seal
    ADD CONSTRAINT audit_seal_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_group
    ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.claims_claimplan
    ADD CONSTRAINT claims_claimplan_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_plan_id_key UNIQUE (plan_id);
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_public_id_key UNIQUE (public_id);
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_submission_once UNIQUE (requester_id, submission_key);
ALTER TABLE ONLY public.claims_claimrequestevent
    ADD CONSTRAINT claims_claimrequestevent_pkey PRIMARY KEY (pgh_id);
ALTER TABLE ONLY public.core_counter
    ADD CONSTRAINT core_counter_once UNIQUE (name, labels);
ALTER TABLE ONLY public.core_counter
    ADD CONSTRAINT core_counter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE ONLY public.django_content_type
    ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_migrations
    ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.django_session
    ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE ONLY public.inventory_allocation
    ADD CONSTRAINT inventory_allocation_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inventory_cluster
    ADD CONSTRAINT inventory_cluster_name_key UNIQUE (name);
ALTER TABLE ONLY public.inventory_cluster
    ADD CONSTRAINT inventory_cluster_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inventory_device
    ADD CONSTRAINT inventory_device_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inventory_kubeobject
    ADD CONSTRAINT inventory_kubeobject_key UNIQUE (cluster_id, kind, namespace, name);
ALTER TABLE ONLY public.inventory_kubeobject
    ADD CONSTRAINT inventory_kubeobject_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inventory_pool
    ADD CONSTRAINT inventory_pool_key UNIQUE (cluster_id, driver, name);
ALTER TABLE ONLY public.inventory_pool
    ADD CONSTRAINT inventory_pool_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pghistory_context
    ADD CONSTRAINT pghistory_context_pkey PRIMARY KEY (id);
CREATE INDEX accounts_apitoken_digest_63ccb187_like ON public.accounts_apitoken USING btree (digest varchar_pattern_ops);
CREATE INDEX accounts_apitoken_user_id_bbee13e0 ON public.accounts_apitoken USING btree (user_id);
CREATE INDEX accounts_membership_tenant_id_be1e9f15 ON public.accounts_membership USING btree (tenant_id);
CREATE INDEX accounts_membership_user_id_487fb39e ON public.accounts_membership USING btree (user_id);
CREATE INDEX accounts_tenant_group_4fd27bfb_like ON public.accounts_tenant USING btree ("group" varchar_pattern_ops);
CREATE INDEX accounts_tenant_name_62906664_like ON public.accounts_tenant USING btree (name varchar_pattern_ops);
CREATE INDEX accounts_tenantnamespace_tenant_id_37a230af ON public.accounts_tenantnamespace USING btree (tenant_id);
CREATE INDEX accounts_user_groups_group_id_bd11a704 ON public.accounts_user_groups USING btree (group_id);
CREATE INDEX accounts_user_groups_user_id_52b62117 ON public.accounts_user_groups USING btree (user_id);
CREATE INDEX accounts_user_user_permissions_permission_id_113bb443 ON public.accounts_user_user_permissions USING btree (permission_id);
CREATE INDEX accounts_user_user_permissions_user_id_e4f0a161 ON public.accounts_user_user_permissions USING btree (user_id);
CREATE INDEX accounts_user_username_6088629e_like ON public.accounts_user USING btree (username varchar_pattern_ops);
CREATE INDEX approvals_decision_approval_id_28bc1ade ON public.approvals_decision USING btree (approval_id);
CREATE INDEX approvals_decision_person_id_bda0c396 ON public.approvals_decision USING btree (person_id);
CREATE INDEX approvals_decisionevent_approval_id_95c4c9e0 ON public.approvals_decisionevent USING btree (approval_id);
CREATE INDEX approvals_decisionevent_person_id_9c8dd13d ON public.approvals_decisionevent USING btree (person_id);
CREATE INDEX approvals_decisionevent_pgh_context_id_868cfd8d ON public.approvals_decisionevent USING btree (pgh_context_id);
CREATE INDEX approvals_decisionevent_pgh_obj_id_827182a4 ON public.approvals_decisionevent USING btree (pgh_obj_id);
CREATE INDEX approvals_open_by ON public.approvals_approval USING btree (decide_by) WHERE is_open;
CREATE INDEX approvals_policyrule_policy_set_id_088b4efa ON public.approvals_policyrule USING btree (policy_set_id);
CREATE INDEX audit_seal_actor ON public.audit_seal USING btree (actor);
CREATE INDEX audit_seal_at ON public.audit_seal USING btree (at);
CREATE INDEX audit_seal_object ON public.audit_seal USING btree ("table", object_id);
CREATE INDEX auth_group_name_a6ea08ec_like ON public.auth_group USING btree (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON public.auth_group_permissions USING btree (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON public.auth_group_permissions USING btree (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON public.auth_permission USING btree (content_type_id);
CREATE INDEX claims_claimplan_cluster_id_20fb25cf ON public.claims_claimplan USING btree (cluster_id);
CREATE INDEX claims_claimrequest_requester_id_e2b84bea ON public.claims_claimrequest USING btree (requester_id);
CREATE INDEX claims_claimrequest_tenant_id_efb4c0ea ON public.claims_claimrequest USING btree (tenant_id);
CREATE INDEX claims_claimrequestevent_pgh_context_id_0587ca47 ON public.claims_claimrequestevent USING btree (pgh_context_id);
CREATE INDEX claims_claimrequestevent_pgh_obj_id_a7d7fe1f ON public.claims_claimrequestevent USING btree (pgh_obj_id);
CREATE INDEX claims_claimrequestevent_plan_id_840fd097 ON public.claims_claimrequestevent USING btree (plan_id);
CREATE INDEX claims_claimrequestevent_requester_id_be3c83a3 ON public.claims_claimrequestevent USING btree (requester_id);
CREATE INDEX claims_claimrequestevent_tenant_id_eca879e3 ON public.claims_claimrequestevent USING btree (tenant_id);
CREATE INDEX claims_request_due ON public.claims_claimrequest USING btree (state, retry_at);
CREATE INDEX claims_request_expires ON public.claims_claimrequest USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX django_session_expire_date_a5c62663 ON public.django_session USING btree (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON public.django_session USING btree (session_key varchar_pattern_ops);
CREATE INDEX inventory_allocation_claim ON public.inventory_allocation USING btree (cluster_id, claim_namespace, claim_name);
CREATE INDEX inventory_allocation_cluster_id_22f3404b ON public.inventory_allocation USING btree (cluster_id);
CREATE INDEX inventory_allocation_device ON public.inventory_allocation USING btree (cluster_id, driver, pool, device);
CREATE INDEX inventory_cluster_name_1e8a10d1_like ON public.inventory_cluster USING btree (name varchar_pattern_ops);
CREATE INDEX inventory_device_cluster_id_5ebc98e8 ON public.inventory_device USING btree (cluster_id);
CREATE INDEX inventory_device_id ON public.inventory_device USING btree (cluster_id, driver, pool, name);
CREATE INDEX inventory_device_node ON public.inventory_device USING btree (cluster_id, node_name);
CREATE INDEX inventory_device_slice ON public.inventory_device USING btree (cluster_id, slice_name);
CREATE INDEX inventory_kubeobject_cluster_id_8c383547 ON public.inventory_kubeobject USING btree (cluster_id);
CREATE INDEX inventory_object_pool ON public.inventory_kubeobject USING btree (cluster_id, pool) WHERE (NOT ((pool)::text = ''::text));
CREATE INDEX inventory_object_revision ON public.inventory_kubeobject USING btree (cluster_id, revision);
CREATE INDEX inventory_object_uid ON public.inventory_kubeobject USING btree (cluster_id, uid);
CREATE INDEX inventory_pool_cluster_id_674c6027 ON public.inventory_pool USING btree (cluster_id);
CREATE TRIGGER pgtrigger_append_only_4044e BEFORE DELETE OR UPDATE ON public.approvals_decisionevent FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_4044e();
COMMENT ON TRIGGER pgtrigger_append_only_4044e ON public.approvals_decisionevent IS 'cb0b53d33b966592bb58ebfb50741533c9c5cfa6';
CREATE TRIGGER pgtrigger_append_only_40984 BEFORE DELETE OR UPDATE ON public.claims_claimrequestevent FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_40984();
COMMENT ON TRIGGER pgtrigger_append_only_40984 ON public.claims_claimrequestevent IS '8dfbbf4eea70e3dc2f461d2b10c18b280ffab7c5';
CREATE TRIGGER pgtrigger_append_only_4de12 BEFORE DELETE OR UPDATE ON public.audit_seal FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_4de12();
COMMENT ON TRIGGER pgtrigger_append_only_4de12 ON public.audit_seal IS '425da599b8e4cf7384a383a64e17697a9d08a345';
CREATE TRIGGER pgtrigger_append_only_cd8c6 BEFORE DELETE OR UPDATE ON public.approvals_decision FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_cd8c6();
COMMENT ON TRIGGER pgtrigger_append_only_cd8c6 ON public.approvals_decision IS 'd7bfbe13cfe8daf3c42d7e2f56ce0935c59438c8';
CREATE TRIGGER pgtrigger_append_only_d5c94 BEFORE DELETE OR UPDATE ON public.approvals_policyset FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_d5c94();
COMMENT ON TRIGGER pgtrigger_append_only_d5c94 ON public.approvals_policyset IS 'addcef22e9b847365b3c4c81b00f7c87225f91f2';
CREATE TRIGGER pgtrigger_append_only_d9ddb BEFORE DELETE OR UPDATE ON public.approvals_policyrule FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_append_only_d9ddb();
COMMENT ON TRIGGER pgtrigger_append_only_d9ddb ON public.approvals_policyrule IS 'bfa489ac09354e92c5c7441887c79d576f26bc5e';
CREATE TRIGGER pgtrigger_insert_insert_58539 AFTER INSERT ON public.claims_claimrequest FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_58539();
COMMENT ON TRIGGER pgtrigger_insert_insert_58539 ON public.claims_claimrequest IS 'ec023c2b95284d8fd26b2f41353e3b3931c71d21';
CREATE TRIGGER pgtrigger_insert_insert_bdb36 AFTER INSERT ON public.approvals_decision FOR EACH ROW EXECUTE FUNCTION public.pgtrigger_insert_insert_bdb36();
COMMENT ON TRIGGER pgtrigger_insert_insert_bdb36 ON public.approvals_decision IS '50cc7389ceeeaacb835a565b586d8d54e65c98fe';
CREATE TRIGGER pgtrigger_update_update_5b51d AFTER UPDATE ON public.claims_claimrequest FOR EACH ROW WHEN ((old.* IS DISTINCT FROM new.*)) EXECUTE FUNCTION public.pgtrigger_update_update_5b51d();
COMMENT ON TRIGGER pgtrigger_update_update_5b51d ON public.claims_claimrequest IS '0fdb815d591570bed83fbc172519e3c86eb9b676';
ALTER TABLE ONLY public.accounts_apitoken
    ADD CONSTRAINT accounts_apitoken_user_id_bbee13e0_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_tenant_id_be1e9f15_fk_accounts_tenant_id FOREIGN KEY (tenant_id) REFERENCES public.accounts_tenant(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_membership
    ADD CONSTRAINT accounts_membership_user_id_487fb39e_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_tenantnamespace
    ADD CONSTRAINT accounts_tenantnames_tenant_id_37a230af_fk_accounts_ FOREIGN KEY (tenant_id) REFERENCES public.accounts_tenant(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_group_id_bd11a704_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_groups
    ADD CONSTRAINT accounts_user_groups_user_id_52b62117_fk_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_permission_id_113bb443_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.accounts_user_user_permissions
    ADD CONSTRAINT accounts_user_user_p_user_id_e4f0a161_fk_accounts_ FOREIGN KEY (user_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_approval
    ADD CONSTRAINT approvals_approval_claim_request_id_dd70e8e3_fk_claims_cl FOREIGN KEY (claim_request_id) REFERENCES public.claims_claimrequest(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_approval_id_28bc1ade_fk_approvals FOREIGN KEY (approval_id) REFERENCES public.approvals_approval(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_decision
    ADD CONSTRAINT approvals_decision_person_id_bda0c396_fk_accounts_user_id FOREIGN KEY (person_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.approvals_policyrule
    ADD CONSTRAINT approvals_policyrule_policy_set_id_088b4efa_fk_approvals FOREIGN KEY (policy_set_id) REFERENCES public.approvals_policyset(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES public.auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_group_permissions
    ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES public.auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.auth_permission
    ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES public.django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.claims_claimplan
    ADD CONSTRAINT claims_claimplan_cluster_id_20fb25cf_fk_inventory_cluster_id FOREIGN KEY (cluster_id) REFERENCES public.inventory_cluster(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_plan_id_5ecd13e9_fk_claims_claimplan_id FOREIGN KEY (plan_id) REFERENCES public.claims_claimplan(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_requester_id_e2b84bea_fk_accounts_user_id FOREIGN KEY (requester_id) REFERENCES public.accounts_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.claims_claimrequest
    ADD CONSTRAINT claims_claimrequest_tenant_id_efb4c0ea_fk_accounts_tenant_id FOREIGN KEY (tenant_id) REFERENCES public.accounts_tenant(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.inventory_allocation
    ADD CONSTRAINT inventory_allocation_cluster_id_22f3404b_fk_inventory FOREIGN KEY (cluster_id) REFERENCES public.inventory_cluster(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.inventory_device
    ADD CONSTRAINT inventory_device_cluster_id_5ebc98e8_fk_inventory_cluster_id FOREIGN KEY (cluster_id) REFERENCES public.inventory_cluster(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.inventory_kubeobject
    ADD CONSTRAINT inventory_kubeobject_cluster_id_8c383547_fk_inventory FOREIGN KEY (cluster_id) REFERENCES public.inventory_cluster(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY public.inventory_pool
    ADD CONSTRAINT inventory_pool_cluster_id_674c6027_fk_inventory_cluster_id FOREIGN KEY (cluster_id) REFERENCES public.inventory_cluster(id) DEFERRABLE INITIALLY DEFERRED;
