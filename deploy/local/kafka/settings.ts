import { join } from 'node:path'
import { LOOPBACK } from '../ports.ts'

export interface BrokerPorts {
  readonly client: number
  /** The KRaft controller's listener, used by the broker itself only. */
  readonly controller: number
}

/** Ten years: a machine that was off for longer than Kafka's seven days must still continue where it was. */
const OFFSETS_RETENTION_MINUTES = 10 * 365 * 24 * 60
/** The shortest that leaves room for five missed heartbeats; Kafka's 45 s would hold a lost worker's partitions that long. */
const GROUP_SESSION_MS = 6_000
const GROUP_HEARTBEAT_MS = 1_000
/** An open transaction of a dead worker holds back the readers of its partitions until this looks at it. */
const TRANSACTION_CLEANUP_MS = 1_000
/** Internal topics: 50 partitions each are made for clusters; here they would be 100 folders and their open files. */
const INTERNAL_PARTITIONS = 8
/** Kafka appends an empty metadata record every 500 ms; one in 30 s keeps an idle machine idle. */
const METADATA_IDLE_MS = 30_000
/**
 * After a kill -9 the controller refuses the new broker until the old one's session is over: 9 s by default.
 * Three seconds still bear a machine that stalls for a moment.
 */
const BROKER_SESSION_MS = 3_000
const BROKER_HEARTBEAT_MS = 1_000
const CLEANER_BUFFER_BYTES = 16 * 1024 * 1024
const SEGMENT_BYTES = 128 * 1024 * 1024

/** server.properties of a single-node broker for development: everything on the loopback address, nothing replicated. */
export function brokerProperties(dataDir: string, ports: BrokerPorts): string {
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
  }
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}
