import { partitionKey } from '../../../kafka/transport.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Runner, Sample } from '../worker/runner.ts'
import type { DeliveryStatus } from './deliveries/deliveries.ts'
import type { Sink } from './sink.ts'
import { TargetUnavailableError } from './target.ts'

export interface SinkRunnerOptions {
  readonly name: string
  /**
   * Connects to the target and creates the sink. The runner calls this function again as long as it throws
   * TargetUnavailableError.
   */
  create(): Promise<Sink>
  /** Closes the connections that `create` opened. */
  close(): Promise<void>
}

const FIRST_RETRY_MS = 200
const LONGEST_RETRY_MS = 5_000

/** Wraps a sink as a runner for its host process. The sink starts when its target answers. */
export function sinkRunner({ name, create, close }: SinkRunnerOptions, runtime: Runtime): Runner {
  const stopping = new AbortController()
  let sink: Sink | undefined
  let waitsFor = 'it is starting'
  let closing: Promise<void> | undefined
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  done.catch(() => {}) // Prevents an unhandled rejection. Callers that await `done` still get the error.

  async function connected(): Promise<Sink | undefined> {
    for (let pause = FIRST_RETRY_MS; !stopping.signal.aborted; pause = Math.min(pause * 2, LONGEST_RETRY_MS)) {
      try {
        return await create()
      } catch (error) {
        if (!(error instanceof TargetUnavailableError)) throw error
        waitsFor = error.message
        runtime.log.warn({ sink: name, reason: error.message }, 'sink_target_unavailable')
        await runtime.sleep(pause, stopping.signal)
      }
    }
    return undefined
  }

  async function run(): Promise<void> {
    try {
      sink = await connected()
      if (!stopping.signal.aborted) await sink?.run()
    } finally {
      await closeOnce()
    }
  }

  function closeOnce(): Promise<void> {
    closing ??= close()
    return closing
  }

  return {
    name,
    kind: 'sink',
    async start() {
      run().then(resolve, reject)
    },
    done,
    async stop() {
      stopping.abort()
      await sink?.stop()
      // `run` may wait indefinitely for unreachable brokers, so a stopping host does not wait until it has ended.
      resolve()
      await closeOnce()
      await done.catch(() => {})
    },
    notReady() {
      if (sink === undefined) return waitsFor
      return sink.isReady ? undefined : 'it has no assignment yet, or has not caught up'
    },
    describe: () => undefined,
    report: () => ({
      metrics: sink?.metrics,
      lanes: sink?.lanes().map(({ queuedBytes, caughtUp, ...lane }) => ({ ...lane, queued_bytes: queuedBytes, caught_up: caughtUp })) ?? [],
    }),
    samples: () => (sink === undefined ? [] : sinkSamples(sink)),
  }
}

function* sinkSamples(sink: Sink): Generator<Sample> {
  if (sink.deliveries !== undefined) yield* deliverySamples(sink.name, sink.deliveries)
  for (const [metric, value] of Object.entries(sink.metrics)) {
    yield {
      name: `sink_${metric.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`,
      help: 'Counted by a sink since its start',
      labels: { sink: sink.name },
      value: value as number,
    }
  }
  for (const lane of sink.lanes()) {
    yield {
      name: 'sink_lag_records',
      help: 'Offsets between the target and the end of the log',
      labels: { sink: sink.name, partition: partitionKey(lane.topic, lane.partition) },
      value: lane.lag,
    }
  }
}

function* deliverySamples(sink: string, { delivered, dropped, failed, deadLettered, running }: DeliveryStatus): Generator<Sample> {
  const help = 'Outcomes of deliveries, counted by a sink since its start'
  const sample = (outcome: string, reason: string, value: number): Sample => ({
    name: 'sink_deliveries_total',
    help,
    labels: { sink, outcome, reason },
    value,
  })
  yield sample('delivered', '', delivered)
  for (const [outcome, counts] of Object.entries({ dropped, failed, dead_lettered: deadLettered })) {
    for (const [reason, count] of counts) yield sample(outcome, reason, count)
  }
  yield { name: 'sink_deliveries_running', help: 'Deliveries in progress', labels: { sink }, value: running }
}
