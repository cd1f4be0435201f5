import { Histogram, type Registry } from 'prom-client'

/**
 * The stages of scoring, in order. Claim and enrichment run at the same time, and so do rules and models. `total` is
 * the time of the whole request.
 */
export const STAGES = ['validation', 'blocklist', 'claim', 'enrichment', 'rules', 'models', 'decision', 'persist', 'log', 'total'] as const
export type Stage = (typeof STAGES)[number]

const MS_PER_SECOND = 1_000
/**
 * Upper bounds of the buckets, in seconds. They are dense around the budgets: 5, 10, 15 and 30 ms for the stages, and
 * 100 ms in total.
 */
const BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 1]

export type ObserveStage = (stage: Stage, ms: number) => void

export function stageTimes(registry: Registry): ObserveStage {
  const histogram = new Histogram({
    name: 'fraud_stage_duration_seconds',
    help: 'Time that each stage of scoring takes',
    labelNames: ['stage'],
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  // The labelled histograms are looked up in advance, because a lookup costs more than an observation.
  const children = new Map(STAGES.map((stage) => [stage, histogram.labels({ stage })]))
  return (stage, ms) => children.get(stage)?.observe(ms / MS_PER_SECOND)
}
