import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { tableStore } from '../../../state/tables/store.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'
import { eventsTable } from './events-table.ts'

/** Returns a store whose server answers every query with this error. */
function refusing(code: string) {
  const query = async () => {
    throw new ClickHouseError({ message: 'refused', code, type: 'SOME_ERROR' })
  }
  return tableStore(eventsTable, { query } as unknown as ClickHouseClient, { cluster: 'main' })
}

test.each([
  ['the disk is full', '75'],
  ['the operating system has no free memory', '173'],
  ["the user's quota is used up", '201'],
  ['the memory limit is exceeded', '241'],
  ['a replica lags behind the quorum', '289'],
  ['an alteration of a replicated table is not finished', '341'],
  ['the status of the replica is changing', '416'],
  ['the server has no free thread', '439'],
  ['the bucket with the parts does not respond', '499'],
  ['another sink alters the table', '517'],
  ['the server is overloaded', '745'],
  ['the server has too many connections', '762'],
])('a sink waits while %s', async (_reason, code) => {
  await expect(refusing(code).position('topic', 0)).rejects.toBeInstanceOf(TargetUnavailableError)
})

test.each([
  ['the table is unknown', '60'],
  ['a value does not fit its column', '53'],
  ['the password is wrong', '516'],
])('a sink stops when %s', async (_reason, code) => {
  await expect(refusing(code).position('topic', 0)).rejects.toMatchObject({ code })
})
