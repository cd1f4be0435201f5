import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { collectProcessMetrics, LOOP_SAMPLE_MS } from '../../runtime/process-metrics.ts'

/** libuv rounds times to milliseconds, so a timer may fire slightly early. */
const EARLY_MS = 2
/** A delay that no sample reaches. Before the first sample, the histogram reports a far higher minimum. */
const NO_SAMPLE_MS = 3_600_000

test('the event loop is sampled only every 100 ms, so that sampling rarely wakes up an idle process', async () => {
  const registry = new Registry()
  collectProcessMetrics(registry)
  let shortestMs = NO_SAMPLE_MS

  // Each reading resets the histogram.
  async function readShortest(): Promise<number> {
    const metric = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'nodejs_eventloop_lag_min_seconds')!
    shortestMs = metric.values[0].value * 1_000
    return shortestMs
  }
  await expect.poll(readShortest, { interval: 3 * LOOP_SAMPLE_MS }).toBeLessThan(NO_SAMPLE_MS)
  expect(shortestMs).toBeGreaterThanOrEqual(LOOP_SAMPLE_MS - EARLY_MS)
})
