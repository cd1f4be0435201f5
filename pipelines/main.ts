import { type Logger, pino } from 'pino'
import { kafkaTransport } from '../kafka/client/index.ts'
import { registryClient } from '../kafka/registry.ts'
import { directOutput, STDOUT } from '../runtime/log-output.ts'
import { lowerPriority } from '../runtime/lower-priority.ts'
import { type StopSignals, stopSignals } from '../runtime/stop-signals.ts'
import { systemRuntime } from '../runtime/system.ts'
import { withReplaceableState } from '../state/stores/replaceable-state.ts'
import type { StateBackend } from '../state/stores/store.ts'
import { type PipelinesConfig, readPipelinesConfig } from './config.ts'
import {
  checkInternalTopics,
  createWorker,
  type EngineMetrics,
  endedProcesses,
  erasableState,
  keptStateMs,
  memberIdentity,
  type Runner,
  type SinkGroup,
  type SinkSeat,
  sinkGroup,
  startHost,
  stateScrub,
  workerRunner,
} from './engine/index.ts'
import { declaredTopologies } from './service.ts'
import { pipelineServices } from './services.ts'
import { sinkGroupIds } from './sink-groups.ts'

async function main(): Promise<void> {
  const signals = stopSignals()
  const config = readPipelinesConfig()
  lowerPriority(config.nice)
  const log = pino(
    { level: config.logLevel, messageKey: 'event', base: { slot: config.slot }, timestamp: pino.stdTimeFunctions.isoTime },
    directOutput(STDOUT),
  )
  const topologies = config.services.flatMap(({ service }) => declaredTopologies(service))
  checkInternalTopics(topologies)
  const apartOf = erasableState(topologies)
  await withReplaceableState(
    { folder: config.stateFolder, memoryBudgetBytes: config.stateMemoryBytes, apartOf },
    (reason) => log.error({ err: reason, folder: config.stateFolder }, 'state_deleted'),
    (backend) => runServices(config, { backend, apartOf, signals }, log),
  )
}

interface Opened {
  readonly backend: StateBackend
  readonly apartOf: ReturnType<typeof erasableState>
  readonly signals: StopSignals
}

async function runServices(config: PipelinesConfig, { backend, apartOf, signals }: Opened, log: Logger): Promise<void> {
  const services = config.services.map(({ service, settings }) => ({ service, resources: service.prepare?.(settings, config) }))
  const runtime = systemRuntime(log)
  const transport = kafkaTransport(
    { ...config.security, brokers: [...config.brokers], clientId: `millrace-pipelines-${config.slot}` },
    { runtime },
  )
  await transport.connect()
  const registry = registryClient({ url: config.schemaRegistryUrl })
  const identity = (name: string) => memberIdentity(config.stateFolder, name, runtime)

  const groupIds = sinkGroupIds(pipelineServices)
  const groups = new Map<string, SinkGroup>()

  // With KEEP_PLACE_ON_STOP, a stopped worker is expected to return soon, so the other workers must not remove it from
  // its groups.
  const hasEnded = config.keepPlaceOnStop ? undefined : endedProcesses(runtime)

  function seatOf(sink: string, address: string): SinkSeat {
    const groupId = groupIds.get(sink) as string
    const options = { groupId, ...identity(groupId), address, hasEnded }
    const group = groups.get(groupId) ?? sinkGroup(options, { transport, runtime })
    groups.set(groupId, group)
    return group.seat()
  }

  function runners(metrics: EngineMetrics, address: string): Runner[] {
    const own = services.flatMap(({ service, resources }) => {
      const workers = service
        .topologies(() => resources)
        .map((topology) => {
          const { guarantee, compression, keepPlaceOnStop, warmUpMaxMs } = config
          const keepStateMs = keptStateMs(config.keepStateMs, config.eraseWithinMs, apartOf?.(topology.name) !== undefined)
          const settings = { guarantee, compression, keepStateMs, keepPlaceOnStop, warmUpMaxMs }
          const onCommit = (seconds: number) => metrics.observeCommit(topology.name, seconds)
          const deps = { transport, registry, backend, identity: identity(topology.name), runtime, onCommit, address, hasEnded }
          return workerRunner(createWorker({ topology, ...settings }, deps))
        })
      const context = { config, transport, registry, runtime }
      const sinks = service.sinks.map((sink) => sink.open({ ...context, resources }, seatOf(sink.name, address)))
      return [...workers, ...sinks, ...(service.jobs?.(context) ?? [])]
    })
    return apartOf === undefined ? own : [...own, stateScrub(backend, config.eraseWithinMs, runtime)]
  }

  // An open transport would keep the process alive after a failed start, so that nothing would restart it.
  try {
    const host = await startHost(config.health, { backend, runtime, runners })
    signals.stopWith(() => void host.stop())
    await host.done
  } finally {
    await transport.close()
  }
}

main().catch((error: Error) => {
  process.stderr.write(`the worker stopped: ${error.message}\n`)
  // If the start failed halfway, connections are still open, and would keep the process alive.
  process.exit(1)
})
