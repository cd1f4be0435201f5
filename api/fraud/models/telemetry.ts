import { Counter, Histogram, type Registry } from 'prom-client'
import { gauge } from '../../kit/metrics.ts'

/** Reasons why models did not score a transaction. */
export type Unscored = 'away' | 'late' | 'circuit_open' | 'too_many'

/** Metrics of the model process. */
export interface ModelTelemetry {
  restarted(): void
  refused(): void
  unscored(why: Unscored, rows: number): void
  answered(rows: number, seconds: number): void
}

/** Telemetry that discards all measurements. */
export const NO_TELEMETRY: ModelTelemetry = {
  restarted: () => undefined,
  refused: () => undefined,
  unscored: () => undefined,
  answered: () => undefined,
}

const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const LATENCY_BUCKETS_SECONDS = [0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 1]

export function modelTelemetry(registry: Registry, isUp: () => boolean): ModelTelemetry {
  const registers = [registry]
  const restarts = new Counter({ name: 'fraud_model_restarts_total', help: 'How often the model process ended unexpectedly', registers })
  const refusals = new Counter({ name: 'fraud_model_refusals_total', help: 'Models that could not be loaded', registers })
  const unscored = new Counter({
    name: 'fraud_model_unscored_total',
    help: 'Transactions that models did not score, by reason',
    labelNames: ['reason'],
    registers,
  })
  const sizes = new Histogram({ name: 'fraud_model_batch_rows', help: 'Transactions per batch', buckets: BATCH_BUCKETS, registers })
  const latency = new Histogram({
    name: 'fraud_model_batch_seconds',
    help: 'Time from sending a batch to the model process until its answer arrives, including late answers',
    buckets: LATENCY_BUCKETS_SECONDS,
    registers,
  })
  gauge(registry, 'fraud_model_up', '1 while the model process scores, otherwise 0', () => Number(isUp()))
  return {
    restarted: () => restarts.inc(),
    refused: () => refusals.inc(),
    unscored: (reason, rows) => unscored.inc({ reason }, rows),
    answered(rows, seconds) {
      sizes.observe(rows)
      latency.observe(seconds)
    },
  }
}
