import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { collectProcessMetrics, LOOP_SAMPLE_MS } from '../../runtime/process-metrics.ts'

/** After a late sample, the next one comes sooner, so the test checks the mean and not the minimum. */
const LEAST_MEAN_MS = LOOP_SAMPLE_MS / 2

test('the event loop is sampled only every 100 ms, so that sampling rarely wakes up an idle process', async () => {
  const registry = new Registry()
  collectProcessMetrics(registry)

  // Each reading resets the histogram. The mean time between two samples is NaN before the first sample.
  async function readMean(): Promise<number> {
    const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'nodejs_eventloop_lag_mean_seconds')!
    return metric.values[0].value * 1_000
  }
  await expect.poll(readMean, { interval: 3 * LOOP_SAMPLE_MS }).toBeGreaterThanOrEqual(LEAST_MEAN_MS)
})
