import type { ClickTotals, HourOfClicks } from '../../../schemas/links/types.ts'
import type { ClickBatch } from './pending-clicks.ts'
import { addToTally, emptyTally } from './tally.ts'
import { KEPT_HOURS } from './time.ts'

/**
 * Number of entries that each list of values keeps. A value with more than 0.4 % of a link's clicks by people is always
 * included, and no count is too high by more than 0.4 % of these clicks. A link with 256 referrers needs about 6 KB.
 */
const TALLY_PLACES = 256

export function noClicks(): ClickTotals {
  return {
    total: 0,
    bots: 0,
    hours: [],
    referrers: emptyTally(),
    countries: emptyTally(),
    browsers: emptyTally(),
    devices: emptyTally(),
  }
}

export function addBatch(totals: ClickTotals, batch: ClickBatch): void {
  totals.total += batch.total
  totals.bots += batch.bots
  for (const [hour, clicks] of batch.hours) addHour(totals.hours, hour, clicks)
  addToTally(totals.referrers, batch.referrers, TALLY_PLACES)
  addToTally(totals.countries, batch.countries, TALLY_PLACES)
  addToTally(totals.browsers, batch.browsers, TALLY_PLACES)
  addToTally(totals.devices, batch.devices, TALLY_PLACES)
}

/**
 * Adds clicks to an hour. Keeps the hours in ascending order, and removes hours that are at least KEPT_HOURS older than
 * the newest hour.
 */
function addHour(hours: HourOfClicks[], hour: number, clicks: number): void {
  let place = hours.length
  while (place > 0 && hours[place - 1].hour > hour) place--
  if (place > 0 && hours[place - 1].hour === hour) hours[place - 1].clicks += clicks
  else hours.splice(place, 0, { hour, clicks })
  const oldest = hours[hours.length - 1].hour - KEPT_HOURS + 1
  while (hours[0].hour < oldest) hours.shift()
}
