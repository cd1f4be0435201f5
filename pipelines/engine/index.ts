/**
 * The public interface of the engine: everything that authors of topologies, commands and sinks need, and the functions
 * that run them. Services import the engine from this file, and their tests also from `testing.ts`.
 */

// Topologies

export { ROLL_EVERY_MS, rolling } from './state/rolling.ts'
export { type Sweep, sweep } from './state/sweep.ts'
export { type Walk, walk } from './state/walk.ts'
export { DEAD_LETTER_HEADERS, originalTimestamp } from './task/dead-letter.ts'
export type {
  Context,
  DeadLetter,
  Drop,
  EmitOptions,
  Late,
  OnError,
  OnFailure,
  Outcome,
  ProcessOptions,
  Processor,
  RecordContext,
  RepartitionOptions,
  SourceOptions,
  Stream,
  TickHandler,
  TickOptions,
  TimeContext,
  TimeHandler,
  TimeOptions,
  TopologyBuilder,
} from './topology/api.ts'
export type { TopologyDescription } from './topology/describe.ts'
export { ProcessorError, TopologyError } from './topology/errors.ts'
export { deadLetterTopicName } from './topology/internal-topics.ts'
export { deadLetter, drop, late } from './topology/outcome.ts'
export { type Topology, topology } from './topology/topology.ts'
export type { TopologyOptions } from './topology/topology-options.ts'

// Topics: their keys, values and formats

export { EncodedBody, encodedBody } from '../../schemas/avro/encoded-body.ts'
export { avroValue } from '../../schemas/avro/value.ts'
export type { ByteWriter, Codec } from '../../schemas/codec.ts'
export { compositeKey, idPart, type KeyPart, textPart, u32Part, u64Part } from '../../schemas/composite.ts'
export { decimalId, decimalInt, utf8 } from '../../schemas/keys.ts'
export { avro } from '../../schemas/load.ts'
export { rawValue } from '../../schemas/raw.ts'
export { APPEND_TIME } from '../../schemas/retention.ts'
export type { AnyTopic, AvroSchema, Topic, ValueFormat } from '../../schemas/topic.ts'

// Stores

export { type JoinBufferStore, joinBufferStore } from '../../state/stores/join-buffer-store.ts'
export { type KeyedStore, keyedStore, ROLL_KEY } from '../../state/stores/keyed-store.ts'
export type { KeyRange } from '../../state/stores/merged-scan.ts'
export { type ByteSpan, keyHash, PackedRows } from '../../state/stores/packed-rows.ts'
export { type PackedStore, packedStore } from '../../state/stores/packed-store.ts'
export { seenSetReader } from '../../state/stores/seen-set/reader.ts'
export { type SeenSetStore, seenSetStore } from '../../state/stores/seen-set-store.ts'
export type { EngineStore } from '../../state/stores/store.ts'
export { type Timer, type TimerStore, timerStore } from '../../state/stores/timer-store.ts'
export { type TopKStore, topKStore } from '../../state/stores/top-k-store.ts'
export { type WindowedCounterStore, windowedCounterStore } from '../../state/stores/windowed-counter-store.ts'

// Commands

export { type Command, type CommandFlow, commandTopic, type Decision, decisionTopic } from '../../schemas/commands/topics.ts'
export {
  type Change,
  type CommandFacts,
  DECIDING,
  DECIDING_BESIDE_BULK,
  type Decide,
  type Decided,
  type DecidedRows,
  type Deciding,
  type DecidingOptions,
  decideCommands,
} from './commands/decide.ts'
export { type Emission, emission, type RowChange, type RowChanges, type RowPrefetch, type Rows, row, storedRows } from './commands/rows.ts'

// Sinks and jobs

export { type GroupJob, groupJob } from './jobs/group-job.ts'
export type { JobRequest } from './jobs/request-queue.ts'
export { type JobRecord, type JobTurn, jobRecord } from './jobs/turn.ts'
export { retryTopic } from './sinks/deliveries/deliveries.ts'
export { DELIVERED, type DeliveryOutcome, type DeliveryTarget } from './sinks/deliveries/delivery.ts'
export { type HttpMessage, type HttpSender, httpSender } from './sinks/deliveries/http-sender.ts'
export { searchedIndex } from './sinks/index-place.ts'
export { indexTarget } from './sinks/index-target.ts'
export { createSink, type LaneStatus, type Sink, type SinkDeps, type SinkOptions } from './sinks/sink.ts'
export { type SinkGroup, type SinkSeat, sinkGroup } from './sinks/sink-group.ts'
export { sinkRunner } from './sinks/sink-runner.ts'
export { tableTarget } from './sinks/table-target.ts'
export { type SinkBatch, type SinkRecord, type SinkTarget, TargetUnavailableError, type WriteResult } from './sinks/target.ts'
export { viewTarget } from './sinks/view-target.ts'

// Dead letters, for command-line tools

export { type DeadLetterFilter, type DeadLetterRecord, readDeadLetters } from './dlq/read.ts'
export { replayDeadLetters } from './dlq/replay.ts'

// Running: `run` for a single topology, and the parts for a process with several topologies and sinks

export type { Log, Runtime } from '../../runtime/runtime.ts'
export { systemRuntime } from '../../runtime/system.ts'
export type { QueryAnswer, QueryRange, RangeAnswer, StateQueries, StateView } from './queries/queries.ts'
export { QueryError } from './queries/query-error.ts'
export type { StateEntry, StatePage } from './queries/state-range.ts'
export { endedProcesses } from './worker/ended-processes.ts'
export { keptStateMs, stateScrub } from './worker/erasable-state.ts'
export { type Host, type HostDeps, type HostOptions, startHost } from './worker/host.ts'
export type { EngineMetrics } from './worker/introspection.ts'
export { memberIdentity } from './worker/member-identity.ts'
export { type PeriodicJob, periodicJob } from './worker/periodic-job.ts'
export { type RunningWorker, type RunOptions, run } from './worker/run.ts'
export type { Runner, Sample } from './worker/runner.ts'
export { createWorker, type Worker, type WorkerStatus } from './worker/worker.ts'
export type { Guarantee, MemberIdentity, WorkerConfig, WorkerDeps } from './worker/worker-config.ts'
export { workerRunner } from './worker/worker-runner.ts'
export { checkInternalTopics, erasableState, internalTopics } from './worker/worker-topics.ts'
