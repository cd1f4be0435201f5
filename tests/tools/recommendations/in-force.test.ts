import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openInForce } from '../../../tools/recommendations/train/in-force.ts'
import { publishBundle, type TestBundle } from '../../api/recommendations/model/bundle.ts'
import { versionsWorld } from '../../state/versions/world.ts'

const { blobs, folder, pathOfBlob } = versionsWorld()
const place = () => ({ blobs, folder: `${folder}-${randomUUID()}` })
const publish = (sequence: number, more: Partial<TestBundle> = {}) =>
  publishBundle(blobs, { sequence, trainedAt: sequence, axes: new Map([[1n, 0]]), ...more })

test('the version in force is opened, so that a candidate can be compared with it', async () => {
  const version = await publish(1)
  const model = await openInForce(version, place())
  expect(model?.version).toBe(version.version)
  model?.close()
})

test('a bundle that the APIs would refuse, here because of its dimensions, is not opened', async () => {
  expect(await openInForce(await publish(2, { dimensions: 128 }), place())).toBeUndefined()
})

test('a bundle whose stored files are damaged is not opened, because every later training would fail in the same way', async () => {
  const version = await publish(4)
  writeFileSync(pathOfBlob(version.files[0].hash), 'damaged')
  expect(await openInForce(version, place())).toBeUndefined()
})

test('if files cannot be fetched, the opening fails with an error, because a later training may be able to fetch them', async () => {
  const away = { open: async () => undefined }
  await expect(openInForce(await publish(3), { ...place(), blobs: away })).rejects.toThrow('is not stored')
})
