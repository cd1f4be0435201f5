import { onTestFinished } from 'vitest'
import type { Holding } from '../../../../api/kit/small-table/holding.ts'
import type { OpenSmallTable } from '../../../../api/kit/small-table/open.ts'
import type { TestDriver } from '../../../../pipelines/engine/testing.ts'
import type { Topic } from '../../../../schemas/topic.ts'

const LOOK_EVERY_MS = 2

/**
 * Returns an opener of tables that follow the output of a topology on the test driver, as an API's tables follow Kafka.
 */
export function tablesOfDriver(driver: TestDriver): OpenSmallTable {
  return async function openSmallTable<V, H>(topic: Topic<string, V>, holding: Holding<V, H>) {
    const held = new Map<string, H>()
    const timer = setInterval(follow, LOOK_EVERY_MS)
    onTestFinished(() => clearInterval(timer))

    function follow(): void {
      const records = driver.read(topic)
      for (const { key, value } of records) {
        if (value === null) held.delete(key!)
        else held.set(key!, holding.hold(value))
      }
      if (records.length > 0) holding.onChange?.()
    }

    return {
      entries: () => held,
      get size() {
        return held.size
      },
      isFromSnapshot: false,
      staleMs: 0,
      isStale: false,
      probes: [],
      async close() {
        clearInterval(timer)
      },
    }
  }
}
