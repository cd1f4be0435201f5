import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { BlobsUnavailableError } from '../../../state/blobs/blob-store.ts'
import { versionInForce } from '../../../state/versions/in-force.ts'
import { type LocalVersions, localVersions } from '../../../state/versions/local.ts'
import { versionsWorld } from './world.ts'

const { blobs, folder, publish, pathOfBlob } = versionsWorld()

function inForce(local: Pick<LocalVersions, 'fetch'> = localVersions({ blobs, folder, now: Date.now })) {
  const told: string[] = []
  const timers: (() => void)[] = []
  const versions = versionInForce({
    local,
    open(place) {
      const content = readFileSync(join(place, 'model'), 'utf8')
      if (content.includes('NaN')) throw new Error('it holds NaN')
      return content
    },
    onSwitch: (version) => told.push(`switched to ${version?.version}`),
    onDiscarded: (content) => told.push(`discarded ${content}`),
    onRefused: (version, error, willRetry) => told.push(`${version.version} refused: ${error.name} ${willRetry}`),
    setTimer(_, callback) {
      timers.push(callback)
      return () => void timers.splice(timers.indexOf(callback), 1)
    },
  })
  return { versions, told, timers }
}

it('the version in force changes only once the wanted version is open, and can change back', async () => {
  const { versions, told } = inForce()
  const [one, two] = [await publish(1, { model: 'one' }), await publish(2, { model: 'two' })]
  expect(versions.current).toBeUndefined()
  for (const version of [one, two, one]) {
    const before = versions.current
    versions.want(version)
    expect(versions.current).toBe(before)
    await versions.settled()
    expect(versions.current?.version).toBe(version)
  }
  expect(versions.current?.opened).toBe('one')
  versions.want(undefined)
  expect(versions.current).toBeUndefined()
  expect(told).toEqual(['switched to v1', 'switched to v2', 'switched to v1', 'switched to undefined'])
})

it('the old version stays in force when the new one is damaged or cannot be opened', async () => {
  const { versions, told, timers } = inForce()
  versions.want(await publish(3, { model: 'three' }))
  await versions.settled()
  const damaged = await publish(4, { model: 'four' })
  const path = pathOfBlob(damaged.files[0].hash)
  const stored = readFileSync(path)
  stored[stored.length - 1] ^= 1
  writeFileSync(path, stored)
  versions.want(damaged)
  await versions.settled()
  versions.want(await publish(5, { model: 'NaN' }))
  await versions.settled()
  expect(versions.current?.opened).toBe('three')
  expect(told).toEqual(['switched to v3', 'v4 refused: BlobCorruptError false', 'v5 refused: Error false'])
  expect(timers).toEqual([])
})

it('the fetch is retried if the blob store did not respond', async () => {
  const here = localVersions({ blobs, folder, now: Date.now })
  let isAway = true
  const { versions, told, timers } = inForce({
    fetch: (version) => (isAway ? Promise.reject(new BlobsUnavailableError('unavailable')) : here.fetch(version)),
  })
  versions.want(await publish(6, { model: 'six' }))
  await versions.settled()
  expect(told).toEqual(['v6 refused: BlobsUnavailableError true'])
  isAway = false
  timers[0]()
  await versions.settled()
  expect(versions.current?.opened).toBe('six')
})

it('a version is fetched again if its files vanished before they were opened', async () => {
  const here = localVersions({ blobs, folder, now: Date.now })
  let isRemoved = true
  const { versions, told, timers } = inForce({
    async fetch(version) {
      const place = await here.fetch(version)
      if (isRemoved) rmSync(place, { recursive: true })
      isRemoved = false
      return place
    },
  })
  versions.want(await publish(10, { model: 'ten' }))
  await versions.settled()
  expect(told).toEqual(['v10 refused: Error true'])
  timers[0]()
  await versions.settled()
  expect(versions.current?.opened).toBe('ten')
})

it('only the version that was requested last is put into force, even if a version that was requested earlier is fetched later', async () => {
  const here = localVersions({ blobs, folder, now: Date.now })
  const gate = Promise.withResolvers<void>()
  const [slow, fast] = [await publish(7, { model: 'seven' }), await publish(8, { model: 'eight' })]
  const { versions, told } = inForce({
    async fetch(version) {
      if (version === slow) await gate.promise
      return here.fetch(version)
    },
  })
  versions.want(slow)
  versions.want(fast)
  gate.resolve()
  await versions.settled()
  expect(told).toEqual(['discarded seven', 'switched to v8'])
})

it('a version that finishes opening only after close is discarded', async () => {
  const { versions, told } = inForce()
  versions.want(await publish(9, { model: 'nine' }))
  versions.close()
  await versions.settled()
  expect(told).toEqual(['discarded nine'])
})
