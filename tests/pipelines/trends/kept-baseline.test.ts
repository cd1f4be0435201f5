import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { entriesOf, HOUR, leap, MINUTE, NEW_YORK, SECOND, START, send } from './driving.ts'

const FOUR_WEEKS = 4 * 168 * HOUR
const USUAL = 40
/** Fraction of a mean that is left after three weeks without contributions. */
const LEFT = 0.7 ** 3

test('a silent term keeps its baseline if it returns in the last hour before the baseline would be forgotten after four weeks', () => {
  const driver = testDriver(trends, { startAt: START, commit: 'manual' })
  for (let i = 0; i < USUAL; i++) send(driver, { hashtags: ['monthly'] })
  leap(driver, MINUTE)
  for (const time of [START + 4 * HOUR, START + 30 * HOUR, START + FOUR_WEEKS + 30 * MINUTE]) {
    driver.restart({ downMs: time - driver.now })
    for (let i = 0; i < 4; i++) leap(driver, 30 * SECOND)
  }
  for (let i = 0; i < 10; i++) send(driver, { hashtags: ['monthly'] })
  for (const minutes of [59, 62, 80]) leap(driver, START + FOUR_WEEKS + minutes * MINUTE - driver.now)
  // 40 minutes of the window belong to the hour with a usual count, and 20 minutes to the hour after it.
  const [entry] = entriesOf(driver, NEW_YORK)
  expect(entry.term).toBe('monthly')
  expect(entry.velocity_vs_usual).toBeCloseTo(10 / (USUAL * LEFT * (40 / 60)))
})
