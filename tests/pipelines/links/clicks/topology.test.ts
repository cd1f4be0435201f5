import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DriverCrash, type TestDriver, testDriver } from '../../../../pipelines/engine/testing.ts'
import { clickReader } from '../../../../pipelines/links/clicks/click-details.ts'
import { clicksTopology } from '../../../../pipelines/links/clicks/topology.ts'
import { AS_OF_KEY } from '../../../../schemas/links/as-of.ts'
import { clickDetails, clicks, linkDeletions, linkStats } from '../../../../schemas/links/topics.ts'
import type { Click, LinkStats } from '../../../../schemas/links/types.ts'

const SETTINGS = { visitorSecret: 'a secret for tests', countryDatabase: undefined, keepAddresses: false }
const START = Date.UTC(2026, 10, 21, 22, 30)
const HOUR = 3_600_000
const PEOPLE = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const CRAWLER = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const STEPS = ['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const

const reader = clickReader(SETTINGS)
const flow = clicksTopology(() => reader)

function drive(commit: 'record' | 'manual' = 'record'): TestDriver {
  return testDriver(flow, { startAt: START, commit })
}

function click(fields: Partial<Click> & { time?: number } = {}): Click {
  const { time = START, ...rest } = fields
  return {
    short_code: 'abc1234',
    timestamp: new Date(time).toISOString(),
    ip: '8.8.8.8',
    user_agent: PEOPLE,
    referrer: 'https://www.google.com/',
    country: '',
    ...rest,
  }
}

function send(driver: TestDriver, fields: Parameters<typeof click>[0] = {}): void {
  const value = click(fields)
  driver.pipe(clicks, value.short_code, value)
}

/** Returns the newest statistics of each link, out of those published since the last call. */
function newestStats(driver: TestDriver): Map<string, LinkStats> {
  const records = driver.read(linkStats).filter(({ key }) => key !== AS_OF_KEY)
  return new Map(records.map(({ key, value }) => [key as string, value as LinkStats]))
}

function deadLetterCodes(driver: TestDriver): string[] {
  return driver.readDeadLetters().map(({ headers }) => String(headers.find(({ key }) => key === 'dead-letter.code')?.value))
}

test('clicks are counted by hour, referrer, country, browser and device; bots count in the totals and hours, but in no list and not as visitors', () => {
  const driver = drive()
  send(driver)
  send(driver, { ip: '193.0.6.139', referrer: '', time: START - HOUR })
  send(driver, { user_agent: CRAWLER, referrer: 'https://bot.example.com/' })
  const entry = (value: string, count: number) => ({ value, clicks: count, over: 0 })
  const hour = Math.floor(START / HOUR) * HOUR
  expect(newestStats(driver).get('abc1234')).toEqual({
    as_of: START,
    total_clicks: 3,
    bot_clicks: 1,
    unique_clicks: 2,
    unique_is_exact: true,
    hours: [
      { start: hour - HOUR, clicks: 1 },
      { start: hour, clicks: 2 },
    ],
    referrers: [entry('direct', 1), entry('google.com', 1)],
    countries: [entry('NL', 1), entry('US', 1)],
    browsers: [entry('Chrome', 2)],
    devices: [entry('desktop', 2)],
  })
})

test('the retention of the details of an old click begins when the click arrives, even if its producer sets the timestamp', () => {
  const driver = drive()
  const time = START - 100 * HOUR
  driver.pipe(clicks, 'abc1234', click({ time }), { timestamp: time })
  expect(driver.read(clickDetails)).toMatchObject([{ timestamp: START, value: { clicked_at: time } }])
})

test('a visitor is counted once a day', () => {
  const driver = drive()
  for (const hours of [0, 0, 1, 2, 3]) {
    driver.advanceWallClock(hours * HOUR)
    send(driver, { time: driver.now })
  }
  expect(newestStats(driver).get('abc1234')).toMatchObject({ total_clicks: 5, unique_clicks: 2 })
})

test('only the newest 48 hours have separate counts, but clicks in earlier hours count in the total', () => {
  const driver = drive()
  send(driver, { time: START - 60 * HOUR })
  send(driver)
  send(driver, { time: START - 48 * HOUR })
  send(driver, { time: START - 47 * HOUR })
  const { hours, total_clicks } = newestStats(driver).get('abc1234') as LinkStats
  expect(total_clicks).toBe(4)
  expect(hours.map(({ clicks }) => clicks)).toEqual([1, 1])
})

describe('details', () => {
  test('contain one record per click, without the address', () => {
    const driver = drive()
    send(driver)
    send(driver, { user_agent: CRAWLER })
    const details = driver.read(clickDetails).map(({ value }) => value)
    expect(details).toMatchObject([
      {
        short_code: 'abc1234',
        clicked_at: START,
        referrer: 'google.com',
        country: 'US',
        browser: 'Chrome',
        device: 'desktop',
        bot: false,
        ip: '',
      },
      { device: 'bot', bot: true, ip: '' },
    ])
    expect(JSON.stringify(details)).not.toContain('8.8.8.8')
  })

  test('include the address if the operator configures it', () => {
    const withAddresses = clickReader({ ...SETTINGS, keepAddresses: true })
    const driver = testDriver(
      clicksTopology(() => withAddresses),
      { startAt: START },
    )
    send(driver)
    expect(driver.read(clickDetails)[0].value).toMatchObject({ ip: '8.8.8.8' })
  })
})

test('a click is counted even if the name of its browser is cut off in the middle of a character', () => {
  const driver = drive()
  send(driver, { user_agent: `${'x'.repeat(39)}\u{1f600}/1.0 (X11)` })
  send(driver)
  expect(deadLetterCodes(driver)).toEqual([])
  expect(driver.read(clickDetails).map(({ value }) => value?.browser)).toEqual([`${'x'.repeat(39)}\ufffd`, 'Chrome'])
  expect(newestStats(driver).get('abc1234')).toMatchObject({ total_clicks: 2 })
})

test('a click counts even if its time is 5 minutes in the future', () => {
  const driver = drive()
  send(driver, { time: START + 5 * 60_000 })
  expect(newestStats(driver).get('abc1234')?.total_clicks).toBe(1)
})

test('a list contains the 10 most frequent values', () => {
  const driver = drive()
  for (let site = 1; site <= 12; site++)
    for (let visit = 0; visit < site; visit++) send(driver, { referrer: `https://site${site}.example/` })
  const { referrers } = newestStats(driver).get('abc1234') as LinkStats
  const expected = Array.from({ length: 10 }, (_, index) => [`site${12 - index}.example`, 12 - index])
  expect(referrers.map(({ value, clicks }) => [value, clicks])).toEqual(expected)
})

test('the counts of a list are exact up to 256 different values', () => {
  const driver = drive('manual')
  const visitFrom = (site: number) => send(driver, { referrer: `https://site${site}.example/` })
  const overs = () => {
    driver.settle()
    return new Set(
      newestStats(driver)
        .get('abc1234')
        ?.referrers.map(({ over }) => over),
    )
  }
  for (let site = 1; site <= 256; site++) visitFrom(site)
  expect(overs()).toEqual(new Set([0]))
  visitFrom(257)
  expect(overs()).toEqual(new Set([0, 1]))
})

describe('a record that is not a click becomes a dead letter', () => {
  test.each([
    ['invalid_short_code', { short_code: 'far-too-long-for-a-code' }],
    ['invalid_short_code', { short_code: ':as-of' }],
    ['invalid_timestamp', { timestamp: 'yesterday' }],
    ['invalid_timestamp', { timestamp: '' }],
    ['invalid_timestamp', { timestamp: '5' }],
    ['invalid_timestamp', { timestamp: 'Sat, 21 Nov 2026 22:30:00 GMT' }],
    ['invalid_timestamp', { timestamp: '2026-11-21 22:30:00' }],
    ['invalid_timestamp', { timestamp: '2026-11-21T25:30:00Z' }],
    ['invalid_timestamp', { timestamp: '1969-12-31T23:59:59.000Z' }],
    ['timestamp_in_the_future', { time: START + 5 * 60_000 + 1 }],
  ])('with %s for %j', (code, fields) => {
    const driver = drive()
    send(driver, fields)
    expect(deadLetterCodes(driver)).toEqual([code])
    expect(newestStats(driver).size).toBe(0)
    expect(driver.read(clickDetails)).toEqual([])
  })

  test('if its key is not the short code', () => {
    const driver = drive()
    driver.pipe(clicks, 'other', click())
    expect(deadLetterCodes(driver)).toEqual(['wrong_key'])
  })
})

describe('as_of', () => {
  test('every partition publishes the time up to which it has counted, after the statistics up to that time', () => {
    const driver = drive('manual')
    driver.settle()
    driver.read(linkStats)
    send(driver)
    driver.advanceWallClock(20_000)
    driver.settle()
    const records = driver.read(linkStats)
    const marks = records.filter(({ key }) => key === AS_OF_KEY)
    expect(new Set(marks.map(({ partition }) => partition)).size).toBe(linkStats.partitions)
    const own = records.find(({ key }) => key === 'abc1234')!
    const vouching = marks.find(({ partition, value }) => partition === own.partition && value!.as_of > START)!
    expect(vouching.offset).toBeGreaterThan(own.offset)
  })
})

describe('a deleted link', () => {
  const DELETED = { deleted_at: START }

  test('is forgotten an hour later, together with clicks that arrived in the meantime, and other links stay', () => {
    const driver = drive()
    for (const short_code of ['abc1234', 'other12']) send(driver, { short_code })
    driver.pipe(linkDeletions, 'abc1234', DELETED)
    driver.advanceWallClock(HOUR / 2)
    send(driver, { time: driver.now })
    expect(newestStats(driver).get('abc1234')).toMatchObject({ total_clicks: 2 })
    driver.advanceWallClock(HOUR / 2)
    expect([...newestStats(driver)]).toEqual([['abc1234', null]])
    // In practice, codes are never reused. Here, a reused code shows that nothing is left: its counts start at zero.
    for (const short_code of ['abc1234', 'other12']) send(driver, { short_code, time: driver.now })
    const stats = newestStats(driver)
    expect(stats.get('abc1234')).toMatchObject({ total_clicks: 1, unique_clicks: 1 })
    expect(stats.get('other12')).toMatchObject({ total_clicks: 2 })
  })

  test('is forgotten together with uncommitted clicks', () => {
    const driver = drive('manual')
    driver.pipe(linkDeletions, 'abc1234', DELETED)
    driver.settle()
    send(driver)
    driver.advanceWallClock(HOUR)
    driver.settle()
    expect(newestStats(driver).get('abc1234') ?? null).toBeNull()
  })

  test('is forgotten together with clicks that waited while no worker ran', () => {
    const driver = drive('manual')
    driver.pipe(linkDeletions, 'abc1234', DELETED)
    driver.settle()
    send(driver)
    driver.restart({ downMs: HOUR })
    driver.advanceWallClock(60_000)
    driver.settle()
    expect(newestStats(driver).get('abc1234') ?? null).toBeNull()
  })

  test('without clicks leaves no trace', () => {
    const driver = drive()
    driver.pipe(linkDeletions, 'abc1234', DELETED)
    driver.advanceWallClock(2 * HOUR)
    expect(newestStats(driver).size).toBe(0)
  })
})

test('a commit writes each link once, even with 5,000 clicks', () => {
  const driver = drive('manual')
  for (let i = 0; i < 5_000; i++) send(driver, { ip: `10.0.${i >> 8}.${i & 255}` })
  driver.settle()
  const stats = driver.read(linkStats).filter(({ key }) => key === 'abc1234')
  expect(stats.length).toBe(1)
  expect(stats[0].value).toMatchObject({ total_clicks: 5_000, unique_is_exact: false })
  expect(Math.abs(stats[0].value!.unique_clicks - 5_000)).toBeLessThan(250)
})

test('a commit may contain more links than fit into one batch', () => {
  const driver = drive('manual')
  for (let i = 0; i < 6_000; i++) send(driver, { short_code: `c${i % 3_000}` })
  driver.settle()
  const stats = newestStats(driver)
  expect(stats.size).toBe(3_000)
  for (const { total_clicks } of stats.values()) expect(total_clicks).toBe(2)
})

describe('a crash', () => {
  const events = fc.array(
    fc.record({
      short_code: fc.constantFrom('aaa', 'bbb', 'ccc'),
      ip: fc.constantFrom('8.8.8.8', '193.0.6.139', '1.1.1.1'),
      user_agent: fc.constantFrom(PEOPLE, CRAWLER),
      referrer: fc.constantFrom('', 'https://a.example.com/', 'https://b.example.org/'),
    }),
    { minLength: 1, maxLength: 40 },
  )
  const crashes = fc.array(fc.record({ after: fc.nat(40), step: fc.constantFrom(...STEPS), wipeState: fc.boolean() }), { maxLength: 4 })

  test('neither loses nor duplicates a click, at any step', () => {
    const crashed = new Set<string>()
    fc.assert(
      fc.property(events, crashes, (list, faults) => {
        const driver = drive('manual')
        for (const [index, event] of list.entries()) {
          send(driver, event)
          for (const { step, wipeState } of faults.filter(({ after }) => after === index)) {
            driver.crashAt(step)
            try {
              driver.settle()
            } catch (error) {
              if (!(error instanceof DriverCrash)) throw error
              crashed.add(step)
            }
            driver.restart({ wipeState })
          }
          if (index % 7 === 0) driver.settle()
        }
        driver.settle()
        const stats = newestStats(driver)
        for (const code of new Set(list.map(({ short_code }) => short_code))) {
          const mine = list.filter(({ short_code }) => short_code === code)
          const people = mine.filter(({ user_agent }) => user_agent === PEOPLE)
          const counted = stats.get(code)!
          expect(counted.total_clicks).toBe(mine.length)
          expect(counted.bot_clicks).toBe(mine.length - people.length)
          expect(counted.unique_clicks).toBe(new Set(people.map(({ ip }) => ip)).size)
          expect(counted.referrers.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(people.length)
        }
        expect(driver.read(clickDetails).length).toBe(list.length)
      }),
      { numRuns: 40 },
    )
    expect(crashed.size).toBeGreaterThan(0)
  })
})
