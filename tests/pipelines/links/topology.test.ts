import { expect, test } from 'vitest'
import { decisionDriver } from '../../../pipelines/engine/testing.ts'
import { links } from '../../../pipelines/links/topology.ts'
import { linkFlow } from '../../../schemas/links/flow.ts'
import { linkDeletions, userLinks } from '../../../schemas/links/topics.ts'
import type { LinkCommand } from '../../../schemas/links/types.ts'
import { linkCommand } from './commands.ts'

const HOUR_MS = 3_600_000
const CODE = 'abc1234'

const linksDriver = () => decisionDriver(links, linkFlow)
const taken = { outcome: 'taken' }

test('the first request for a code creates the link, and all later requests get the outcome `taken`', () => {
  const { ask, view, driver } = linksDriver()
  const first = ask(CODE, linkCommand())
  expect(first).toEqual({
    outcome: 'created',
    link: {
      long_url: 'https://example.com/',
      domain: 'sho.rt',
      expires_at: null,
      expired_url: null,
      created_at: driver.now,
      is_active: true,
      analytics: true,
    },
  })
  expect(ask(CODE, linkCommand())).toEqual(taken)
  expect(ask(CODE, linkCommand({ user_id: null, long_url: 'https://other.example/' }))).toEqual(taken)
  expect(view(CODE)).toMatchObject({ short_code: CODE, long_url: 'https://example.com/', user_id: 42n })
})

test('for a day, even after a restart, a repeated command gets the first answer; after that, it counts as a new command', () => {
  const { ask, driver } = linksDriver()
  const first = ask(CODE, linkCommand(), { id: 'one' })
  driver.advanceWallClock(23 * HOUR_MS)
  driver.restart({ wipeState: true })
  expect(ask(CODE, linkCommand(), { id: 'one' })).toEqual(first)
  driver.advanceWallClock(2 * HOUR_MS)
  expect(ask(CODE, linkCommand(), { id: 'one' })).toEqual(taken)
})

test('a command id that was used for another request is a conflict and changes nothing', () => {
  const { ask, result, view } = linksDriver()
  ask(CODE, linkCommand(), { id: 'one' })
  const other = linkCommand({ long_url: 'https://other.example/' })
  expect(result(CODE, other, { id: 'one', requestHash: 'other' })).toMatchObject({ outcome: 'conflict', answer: '' })
  expect(view(CODE)?.long_url).toBe('https://example.com/')
})

test('a command whose deadline has passed is not decided, and may be sent again', () => {
  const { ask, result, driver } = linksDriver()
  expect(result(CODE, linkCommand(), { id: 'late', deadline: driver.now - 1 })).toBeUndefined()
  expect(driver.metrics.dropped.get('command_deadline')).toBe(1)
  expect(ask(CODE, linkCommand(), { id: 'late' })).toMatchObject({ outcome: 'created' })
})

test('commands are deleted from the store after a day', () => {
  const { ask, driver } = linksDriver()
  ask(CODE, linkCommand(), { id: 'one' })
  driver.advanceWallClock(26 * HOUR_MS)
  const log = driver.broker.records('links-decided-changelog')
  expect(log.map(({ value }) => value !== null)).toEqual([true, false])
})

test('a link is marked as expired once, within seconds of its expiration', () => {
  const { ask, view, driver } = linksDriver()
  ask(CODE, linkCommand({ expires_at: driver.now + HOUR_MS }))
  driver.advanceWallClock(HOUR_MS - 1)
  expect(view(CODE)?.is_expired).toBe(false)
  driver.advanceWallClock(11_000)
  expect(view(CODE)?.is_expired).toBe(true)
  driver.read(linkFlow.decisions)
  driver.advanceWallClock(HOUR_MS)
  expect(driver.read(linkFlow.decisions)).toEqual([])
})

test('if 200 links of one partition expire in each of eight seconds, all are marked as expired within a second after the last ones expire', () => {
  const { driver } = decisionDriver(links, linkFlow, { partitions: { [linkFlow.commands.name]: 1, [linkFlow.decisions.name]: 1 } })
  const [seconds, each] = [8, 200]
  const start = driver.now
  for (let index = 0; index < seconds * each; index++) {
    const body = linkCommand({ user_id: null, expires_at: start + HOUR_MS + Math.floor(index / each) * 1_000 })
    const command = { command_id: `c${index}`, reply_to: 'x', request_hash: 'x', deadline: start + HOUR_MS, body }
    driver.pipe(linkFlow.commands, `code${index}`, command)
  }
  driver.read(linkFlow.decisions)
  driver.advanceWallClock(HOUR_MS + seconds * 1_000)
  expect(driver.read(linkFlow.decisions).filter(({ value }) => value?.view?.is_expired)).toHaveLength(seconds * each)
})

test('a new expiration replaces the old one and reactivates the link', () => {
  const { ask, view, driver } = linksDriver()
  ask(CODE, linkCommand({ expires_at: driver.now + HOUR_MS }))
  driver.advanceWallClock(2 * HOUR_MS)
  const renewed = linkCommand({ action: 'update', sets_expiry: true, expires_at: driver.now + HOUR_MS })
  expect(ask(CODE, renewed)).toMatchObject({ outcome: 'updated', link: { expires_at: driver.now + HOUR_MS } })
  expect(view(CODE)?.is_expired).toBe(false)
  ask(CODE, linkCommand({ action: 'update', sets_expiry: true, expires_at: null }))
  driver.advanceWallClock(3 * HOUR_MS)
  expect(view(CODE)).toMatchObject({ is_expired: false, expires_at: null })
})

test("a user's list is in one partition and has the newest state of each link that is not deleted", () => {
  const { ask, driver } = linksDriver()
  for (const code of ['aaaaaaa', 'bbbbbbb', 'ccccccc']) ask(code, linkCommand())
  ask('bbbbbbb', linkCommand({ action: 'update', is_active: false }))
  ask('ccccccc', linkCommand({ action: 'delete' }))
  ask('nobodys', linkCommand({ user_id: null }))
  const records = driver.read(userLinks)
  const newest = new Map(records.map(({ key, value }) => [key, value]))
  expect([...newest].map(([key, link]) => [key, link?.is_active])).toEqual([
    ['42:aaaaaaa', true],
    ['42:bbbbbbb', false],
    ['42:ccccccc', undefined],
  ])
  expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
})

test('a deletion is sent to the click counters once, if clicks of the link are counted', () => {
  const { ask, driver } = linksDriver()
  for (const code of ['aaaaaaa', 'bbbbbbb']) ask(code, linkCommand({ analytics: code === 'aaaaaaa', expires_at: driver.now + HOUR_MS }))
  ask('aaaaaaa', linkCommand({ action: 'update', is_active: false }))
  for (const code of ['aaaaaaa', 'bbbbbbb', 'aaaaaaa']) ask(code, linkCommand({ action: 'delete' }))
  const deletedAt = driver.now
  driver.advanceWallClock(2 * HOUR_MS)
  expect(driver.read(linkDeletions).map(({ key, value }) => [key, value])).toEqual([['aaaaaaa', { deleted_at: deletedAt }]])
})

test('the owner of a link that an administrator switched off cannot switch the link on, but an administrator can', () => {
  const { ask, view, driver } = linksDriver()
  const patch = (fields: Partial<LinkCommand>) => ask(CODE, linkCommand({ action: 'update', ...fields }))
  const asAdmin = { user_id: 1n, is_admin: true }
  ask(CODE, linkCommand())
  patch({ ...asAdmin, is_active: false })
  expect(patch({ is_active: true })).toEqual({ outcome: 'blocked' })
  expect(patch({ is_active: true, sets_expiry: true, expires_at: driver.now + HOUR_MS })).toEqual({ outcome: 'blocked' })
  expect(view(CODE)).toMatchObject({ is_active: false, expires_at: null })
  // The administrator's block remains when other fields change, or when the owner switches the link off.
  expect(patch({ sets_expired_url: true, expired_url: 'https://else.example/' })).toMatchObject({ outcome: 'updated' })
  expect(patch({ is_active: false })).toMatchObject({ outcome: 'updated', link: { is_active: false } })
  driver.restart({ wipeState: true })
  expect(patch({ is_active: true })).toEqual({ outcome: 'blocked' })
  expect(patch({ ...asAdmin, is_active: true })).toMatchObject({ outcome: 'updated', link: { is_active: true } })
  expect(patch({ is_active: false })).toMatchObject({ outcome: 'updated', link: { is_active: false } })
  expect(patch({ is_active: true })).toMatchObject({ outcome: 'updated', link: { is_active: true } })
})

test('an administrator who switched off their own link can switch it on again without the administrator scope', () => {
  const { ask } = linksDriver()
  ask(CODE, linkCommand())
  ask(CODE, linkCommand({ action: 'update', is_admin: true, is_active: false }))
  expect(ask(CODE, linkCommand({ action: 'update', is_active: true }))).toMatchObject({ outcome: 'updated', link: { is_active: true } })
})
