/**
 * The engine's interface for tests. It contains drivers that run a topology in memory with a manual clock and simulate
 * crashes. It also contains the in-memory broker, registry and database for tests that run a complete worker.
 * Production code does not use this interface.
 */
export { memoryBroker } from '../../kafka/memory/broker.ts'
export { memoryRegistry } from '../../kafka/memory/registry.ts'
export { memoryTransport } from '../../kafka/memory/transport.ts'
export { type ManualRuntime, manualRuntime } from '../../runtime/manual.ts'
export { silentLog } from '../../runtime/system.ts'
export { memoryBackend } from '../../state/stores/memory-backend.ts'
export { type AskOptions, type DecisionDriver, decisionDriver } from './commands/decision-driver.ts'
export {
  DriverCrash,
  type PipeOptions,
  type TestDriver,
  type TestDriverOptions,
  type TestRecord,
  testDriver,
} from './testing/test-driver.ts'
export type { CommitFault, CommitFaultPoint } from './worker/commit.ts'
