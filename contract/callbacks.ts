// Who is told of a job's life, and what: callbacks of a job, the CloudEvents they are sent, and what became of each.
import { Type, type Static } from "typebox";
import {
  AttemptIdSchema,
  CatalogIdSchema,
  CorrelationIdSchema,
  EventIdSchema,
  JobIdSchema,
  TimestampSchema,
} from "./ids.ts";
import {
  AttemptStateSchema,
  EffectSchema,
  EvidenceSchema,
  FailureCategorySchema,
} from "./states.ts";

const closed = { additionalProperties: false } as const;

export const CALLBACK_EVENTS = ["attempt.accepted", "attempt.started", "attempt.ended"] as const;
export type CallbackEventName = (typeof CALLBACK_EVENTS)[number];

export const CALLBACKS_MAX = 8;

// No user and password in a URL, and no fragment. Plain HTTP only to a loopback address that is written out.
const AUTHORITY = "(https://[^\\s/@?#]+|http://(127(\\.\\d{1,3}){3}|\\[::1\\])(:\\d{1,5})?)";

export const CallbackSchema = Type.Object(
  {
    url: Type.String({ maxLength: 2048, pattern: `^${AUTHORITY}([/?][^\\s#]*)?$` }),
    events: Type.Array(Type.Enum([...CALLBACK_EVENTS]), {
      minItems: 1,
      maxItems: CALLBACK_EVENTS.length,
      uniqueItems: true,
    }),
  },
  closed,
);
export type Callback = Static<typeof CallbackSchema>;

export const CALLBACK_SOURCE = "urn:aim:plane";
export const CALLBACK_CONTENT_TYPE = "application/cloudevents+json; charset=utf-8";

/** `attempt.ended` → `aim.attempt.ended.v1`. */
export function callbackType<N extends CallbackEventName>(name: N): `aim.${N}.v1` {
  return `aim.${name}.v1`;
}

/** CloudEvents 1.0 in structured mode. Ids, codes and states only; nothing that a tool wrote. */
export const CallbackEventSchema = Type.Object(
  {
    specversion: Type.Literal("1.0"),
    id: EventIdSchema,
    source: Type.Literal(CALLBACK_SOURCE),
    type: Type.Enum(CALLBACK_EVENTS.map(callbackType)),
    /** The run. */
    subject: AttemptIdSchema,
    time: TimestampSchema,
    datacontenttype: Type.Literal("application/json"),
    /** Of the attempt, from 1; a string, as the CloudEvents sequence extension wants it. */
    sequence: Type.String({ pattern: "^[1-9]\\d{0,8}$" }),
    data: Type.Object(
      {
        run_id: AttemptIdSchema,
        job_id: JobIdSchema,
        customer: CatalogIdSchema,
        job_type: Type.String(),
        state: AttemptStateSchema,
        effect: EffectSchema,
        evidence: EvidenceSchema,
        failure_category: Type.Union([FailureCategorySchema, Type.Null()]),
        error: Type.Union([Type.String({ pattern: "^[a-z_]+$" }), Type.Null()]),
        operation_id: Type.Optional(CorrelationIdSchema),
        plan_node_id: Type.Optional(CorrelationIdSchema),
        node_run_id: Type.Optional(CorrelationIdSchema),
      },
      closed,
    ),
  },
  closed,
);
export type CallbackEvent = Static<typeof CallbackEventSchema>;

export const DELIVERY_STATES = ["waiting", "delivered", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Why the last try brought nothing. The first two are never tried again. */
export const DELIVERY_ERRORS = {
  url_refused: "The URL cannot be used, or is plain HTTP and this plane was not told to allow it.",
  address_refused: "The name leads to an address that callbacks may not reach.",
  unresolved: "The name could not be resolved.",
  unreachable: "No connection, or it broke before an answer.",
  tls_failed: "The receiver's certificate or its TLS was not accepted.",
  timed_out: "No answer in time.",
  redirected: "The receiver answered with a redirect, which is not followed.",
  refused: "The receiver answered with a status other than 2xx.",
} as const;
export type DeliveryError = keyof typeof DELIVERY_ERRORS;

/** One event for one callback of its job. */
export const DeliverySchema = Type.Object(
  {
    event_id: EventIdSchema,
    callback_index: Type.Integer({ minimum: 0, maximum: CALLBACKS_MAX - 1 }),
    run_id: AttemptIdSchema,
    sequence: Type.Integer({ minimum: 1 }),
    type: Type.Enum(CALLBACK_EVENTS.map(callbackType)),
    url: Type.String(),
    state: Type.Enum([...DELIVERY_STATES]),
    tries: Type.Integer({ minimum: 0 }),
    created_at: TimestampSchema,
    /** While it waits. */
    next_try_at: Type.Union([TimestampSchema, Type.Null()]),
    last_status: Type.Union([Type.Integer(), Type.Null()]),
    last_error: Type.Union([
      Type.Enum(Object.keys(DELIVERY_ERRORS) as DeliveryError[]),
      Type.Null(),
    ]),
  },
  closed,
);
export type Delivery = Static<typeof DeliverySchema>;
