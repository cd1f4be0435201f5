import { join } from 'node:path'
import { LOOPBACK } from '../ports.ts'

export interface BrokerPorts {
  readonly client: number
  /** Port of the KRaft controller's listener, which only the broker uses. */
  readonly controller: number
}

/** Broker configuration by name, such as `log.retention.check.interval.ms`. */
export type BrokerSettings = Readonly<Record<string, string | number | boolean>>

/**
 * Retention of committed offsets: ten years. With Kafka's default of seven days, a machine that was off for longer
 * could not continue at its committed offsets.
 */
const OFFSETS_RETENTION_MINUTES = 10 * 365 * 24 * 60
/**
 * Session timeout of consumer groups. It tolerates five missed heartbeats of an ordinary member. A member that owns all
 * partitions sends a heartbeat only every two seconds, so two of its heartbeats may be missed. With Kafka's default,
 * the partitions of a lost worker would have no owner for 45 s.
 */
const GROUP_SESSION_MS = 6_000
const GROUP_HEARTBEAT_MS = 1_000
/**
 * How often the broker looks for transactions that have timed out. The transaction of a dead producer blocks
 * read_committed consumers until the broker aborts it.
 */
const TRANSACTION_CLEANUP_MS = 1_000
/**
 * Pause before a leader tries again to add its partition to a transaction; Kafka's default is 20 ms. The leader cannot
 * add the partition while the markers of the previous transaction are being written, which takes 2 to 5 ms.
 */
const ADD_PARTITIONS_RETRY_MS = 1
/**
 * Number of partitions of each internal topic. Kafka's default of 50 suits clusters. On one machine, the topics for
 * offsets and transactions would then need 100 folders with open files.
 */
const INTERNAL_PARTITIONS = 8
/**
 * Interval at which Kafka appends an empty metadata record. With the default of 500 ms, the broker would keep an idle
 * machine busy.
 */
const METADATA_IDLE_MS = 30_000
/**
 * Session timeout of the broker. After a kill -9, the controller rejects the restarted broker until the old session
 * expires, 9 s by default. A session of three seconds still survives a short stall of the machine.
 */
const BROKER_SESSION_MS = 3_000
const BROKER_HEARTBEAT_MS = 1_000
const CLEANER_BUFFER_BYTES = 16 * 1024 * 1024
const SEGMENT_BYTES = 128 * 1024 * 1024

/**
 * Returns the server.properties of a single-node broker for development. It listens only on loopback and does not
 * replicate.
 */
export function brokerProperties(dataDir: string, ports: BrokerPorts, extra: BrokerSettings = {}): string {
  const settings: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@${LOOPBACK}:${ports.controller}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://${LOOPBACK}:${ports.client},CONTROLLER://${LOOPBACK}:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://${LOOPBACK}:${ports.client}`,
    'log.dirs': join(dataDir, 'logs'),

    'auto.create.topics.enable': false,
    'num.partitions': 4,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': INTERNAL_PARTITIONS,
    'offsets.retention.minutes': OFFSETS_RETENTION_MINUTES,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': INTERNAL_PARTITIONS,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': INTERNAL_PARTITIONS,

    'group.initial.rebalance.delay.ms': 0,
    'group.consumer.session.timeout.ms': GROUP_SESSION_MS,
    'group.consumer.min.session.timeout.ms': GROUP_SESSION_MS,
    'group.consumer.heartbeat.interval.ms': GROUP_HEARTBEAT_MS,
    'group.consumer.min.heartbeat.interval.ms': GROUP_HEARTBEAT_MS,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': TRANSACTION_CLEANUP_MS,
    'add.partitions.to.txn.retry.backoff.ms': ADD_PARTITIONS_RETRY_MS,

    'broker.session.timeout.ms': BROKER_SESSION_MS,
    'broker.heartbeat.interval.ms': BROKER_HEARTBEAT_MS,

    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    'num.recovery.threads.per.data.dir': 2,
    'metadata.max.idle.interval.ms': METADATA_IDLE_MS,
    'log.segment.bytes': SEGMENT_BYTES,
    'log.cleaner.threads': 1,
    'log.cleaner.dedupe.buffer.size': CLEANER_BUFFER_BYTES,
    ...extra,
  }
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${escaped(String(value))}\n`)
    .join('')
}

/** Escapes characters for a Java properties file, which is read as ISO 8859-1. */
function escaped(value: string): string {
  return value.replace(/[^\x20-\x7e]|\\/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
