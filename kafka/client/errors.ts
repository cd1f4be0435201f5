import { FencedError, TransportError } from '../transport.ts'
import { protocolErrorsCodesById } from './protocol.ts'

/** The name of a Kafka error code, as in the documentation of the protocol. `NONE` means success. */
export type ErrorName = string

/**
 * Returns the name of an error code. Codes that the protocol package does not contain, such as those of newer brokers,
 * are named by their number.
 */
export function errorName(code: number): ErrorName {
  return (protocolErrorsCodesById as Record<number, string>)[code] ?? `ERROR_${code}`
}

/**
 * Thrown when a request was not answered because the broker is down, overloaded or unreachable, or when the broker
 * answered that it cannot handle the request yet. Without an answer, the effect of the request is unknown.
 */
export class Disconnected extends TransportError {
  constructor(message: string, cause?: unknown) {
    super('DISCONNECTED', message, { fatal: false, cause })
  }
}

function closedError(): TransportError {
  return new TransportError('CLOSED', 'the transport was closed', { fatal: false })
}

/** Throws TransportError with code CLOSED if the signal has fired because its part of the transport was closed. */
export function throwIfClosed(closing: AbortSignal | undefined): void {
  if (closing?.aborted) throw closedError()
}

/**
 * Waits for an answer until the signal fires. A part of the transport that is closed must not wait for a broker that
 * hangs.
 * @throws TransportError with code CLOSED when the signal fires
 */
export async function untilClosed<Answer>(answer: Promise<Answer>, closing: AbortSignal): Promise<Answer> {
  const { promise: closed, reject } = Promise.withResolvers<never>()
  const onClose = () => reject(closedError())
  if (closing.aborted) onClose()
  closing.addEventListener('abort', onClose)
  try {
    return await Promise.race([answer, closed])
  } finally {
    closing.removeEventListener('abort', onClose)
  }
}

/**
 * Thrown when the member is no longer part of the group. The producer is not affected, so the transaction can be
 * aborted.
 */
export class MemberFenced extends FencedError {}

/**
 * Classes of errors after which the transport can continue. Each class is named after the cause of its errors, because
 * the cause determines the reaction. Every other error is fatal.
 */
const REACTIONS = {
  /** The leader has moved or is being elected: refresh the metadata and retry. */
  'stale-leader': [
    'NOT_LEADER_OR_FOLLOWER',
    'LEADER_NOT_AVAILABLE',
    'REPLICA_NOT_AVAILABLE',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_LEADER_EPOCH',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'UNKNOWN_TOPIC_ID',
    'INCONSISTENT_TOPIC_ID',
    'KAFKA_STORAGE_ERROR',
    'OFFSET_NOT_AVAILABLE',
  ],
  /** The coordinator has moved or is loading its log: look the coordinator up again and retry. */
  'stale-coordinator': ['NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS'],
  /** A broker or coordinator is in a transient state, or has not answered: retry. */
  passing: [
    'REQUEST_TIMED_OUT',
    'NOT_ENOUGH_REPLICAS',
    'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
    'CONCURRENT_TRANSACTIONS',
    'UNSTABLE_OFFSET_COMMIT',
    'THROTTLING_QUOTA_EXCEEDED',
    'NETWORK_EXCEPTION',
    'BROKER_NOT_AVAILABLE',
    'NOT_CONTROLLER',
    'FETCH_SESSION_ID_NOT_FOUND',
    'INVALID_FETCH_SESSION_EPOCH',
  ],
  /**
   * The producer was fenced, the broker has aborted the transaction because of a timeout, or the broker has lost the
   * producer's state. Nothing can be added to the transaction.
   */
  'producer-lost': [
    'PRODUCER_FENCED',
    'INVALID_PRODUCER_EPOCH',
    'INVALID_PRODUCER_ID_MAPPING',
    'INVALID_TXN_STATE',
    'TRANSACTION_ABORTABLE',
    'UNKNOWN_PRODUCER_ID',
    'OUT_OF_ORDER_SEQUENCE_NUMBER',
  ],
  /** The member is no longer part of the group, so it must join again. */
  'member-lost': ['UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH', 'FENCED_INSTANCE_ID', 'GROUP_ID_NOT_FOUND'],
  /** The member epoch has been raised since the request was made: a heartbeat returns the new epoch. */
  'member-epoch-old': ['ILLEGAL_GENERATION', 'STALE_MEMBER_EPOCH'],
  none: ['NONE'],
} as const satisfies Record<string, readonly ErrorName[]>

export type ErrorClass = keyof typeof REACTIONS | 'fatal'

const CLASSES = new Map<ErrorName, ErrorClass>(
  Object.entries(REACTIONS).flatMap(([kind, names]) => names.map((name) => [name, kind as ErrorClass])),
)

/** Returns the class of an error. The class determines how a request loop reacts to the error. */
export function classify(name: ErrorName): ErrorClass {
  return CLASSES.get(name) ?? 'fatal'
}

/** Creates the error for a request that would fail again if it were retried. */
export function fatal(name: ErrorName, doing: string, detail?: string | null): TransportError {
  return new TransportError(name, `${doing}: the broker answered ${name}${detail ? ` (${detail})` : ''}`, { fatal: true })
}
