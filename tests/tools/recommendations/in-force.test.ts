import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openInForce } from '../../../tools/recommendations/train/in-force.ts'
import { publishBundle, type TestBundle } from '../../api/recommendations/model/bundle.ts'
import { versionsWorld } from '../../state/versions/world.ts'

const { blobs, folder } = versionsWorld()
const place = () => ({ blobs, folder: `${folder}-${randomUUID()}` })
const publish = (sequence: number, more: Partial<TestBundle> = {}) =>
  publishBundle(blobs, { sequence, trainedAt: sequence, axes: new Map([[1n, 0]]), ...more })

test('a candidate is compared with the version in force', async () => {
  const version = await publish(1)
  const model = await openInForce(version, place())
  expect(model?.version).toBe(version.version)
  await model?.close()
})

test('if the APIs would refuse a bundle, for example because of an older format, the rules take its place in the comparison', async () => {
  expect(await openInForce(await publish(2, { dimensions: 128 }), place())).toBeUndefined()
})

test('if files cannot be fetched, the training ends, because a later training may be able to fetch them', async () => {
  const away = { open: async () => undefined }
  await expect(openInForce(await publish(3), { ...place(), blobs: away })).rejects.toThrow('is not stored')
})
