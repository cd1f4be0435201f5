import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { expect, onTestFinished, test, vi } from 'vitest'
import { smallerImagesTarget } from '../../../../pipelines/catalog/images/smaller.ts'
import { sweepImages } from '../../../../pipelines/catalog/images/sweep.ts'
import { TargetUnavailableError } from '../../../../pipelines/engine/index.ts'
import { IMAGE_FORMS, IMAGE_WIDTHS, imageForm } from '../../../../schemas/catalog/products/image-forms.ts'
import { BlobsUnavailableError } from '../../../../state/blobs/blob-store.ts'
import { connectImages, type ImageStore } from '../../../../state/blobs/images.ts'
import { picture } from '../../../api/catalog/images/pictures.ts'

const PLACE = { topic: 'catalog-images', partition: 0 }
const FACTS = { start: 0, end: 9, topicId: 'a', committed: undefined, isBeyondEnd: async (offset: number) => offset > 9 }

async function opened() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-smaller-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = await connectImages({ url: pathToFileURL(folder).href, s3Endpoint: undefined })
  const warnings: string[] = []
  const log = { warn: (_fields: unknown, event: string) => warnings.push(event) }

  async function keep(bytes: Buffer): Promise<string> {
    const draft = store.originals.draft()
    await draft.write(bytes)
    return (await store.originals.keep(draft)).hash
  }

  /**
   * Returns a function that applies records about images. A null value means that no product uses the image anymore.
   */
  function applying(records: readonly (readonly [string, { products: number } | null])[], images: ImageStore = store) {
    const target = smallerImagesTarget(images, { log } as unknown as Parameters<typeof smallerImagesTarget>[1])
    const batch = records.map(([key, value], offset) => ({ offset, timestamp: 0, key, value }))
    return target.prepare({ partition: PLACE, records: batch, expected: 0, next: records.length, caughtUp: false })
  }

  async function widths(hash: string): Promise<(number | undefined)[]> {
    const files = await Promise.all(IMAGE_FORMS.map((form) => store.smaller.get(hash, form)))
    return await Promise.all(files.map(async (file) => (file === undefined ? undefined : (await sharp(file).metadata()).width)))
  }

  return { store, keep, applying, widths, warnings }
}

test('the four smaller files of each image that a product uses are made, and no image is enlarged', async () => {
  const { keep, applying, widths } = await opened()
  const [large, small, dropped] = await Promise.all(
    [1_500, 400, 900].map(async (width) => await keep(await picture({ width, height: 300 }))),
  )
  const apply = applying([
    [large, { products: 1 }],
    [dropped, null],
    [small, { products: 2 }],
  ])
  expect(await apply()).toEqual({ outcome: 'applied' })
  expect(await widths(large)).toEqual([...IMAGE_WIDTHS])
  expect(await widths(small)).toEqual([150, 300, 400, 400])
  expect(await widths(dropped)).toEqual([undefined, undefined, undefined, undefined])
})

test('when a record is applied again, only the missing files are made', async () => {
  const { store, keep, applying, widths } = await opened()
  const hash = await keep(await picture({ width: 1_300, height: 200 }))
  for (const width of [150, 600] as const) await store.smaller.put(hash, imageForm(width), await picture({ width: 10, height: 10 }))
  await applying([[hash, { products: 1 }]])()
  expect(await widths(hash)).toEqual([10, 300, 10, 1200])
})

test('if a sweep removes an image while one of its smaller files is being made, that file does not remain', async () => {
  const { store, keep, applying, widths } = await opened()
  const hash = await keep(await picture({ width: 200, height: 100 }))
  const smaller: ImageStore['smaller'] = {
    ...store.smaller,
    async put(...file) {
      const options = { referenced: async () => new Set<string>(), before: Number.MAX_SAFE_INTEGER, signal: new AbortController().signal }
      await sweepImages(store, options)
      await store.smaller.put(...file)
    },
  }
  expect(await applying([[hash, { products: 1 }]], { ...store, smaller })()).toEqual({ outcome: 'applied' })
  expect(await widths(hash)).toEqual([undefined, undefined, undefined, undefined])
})

test('damaged and missing images do not delay other images', async () => {
  const { keep, applying, widths, warnings } = await opened()
  const damaged = await keep(Buffer.from('not an image'))
  const good = await keep(await picture({ width: 200, height: 100 }))
  await applying([
    [damaged, { products: 1 }],
    ['0'.repeat(64), { products: 1 }],
    [good, { products: 1 }],
  ])()
  expect(warnings).toEqual(['image_not_resized'])
  expect(await widths(good)).toEqual([150, 200, 200, 200])
})

test('while the image store is unavailable, the sink retries the current image without repeating earlier images', async () => {
  const { store, keep, applying, widths } = await opened()
  const hashes = await Promise.all([200, 210].map(async (width) => await keep(await picture({ width, height: 100 }))))
  const asked: string[] = []
  let isAway = true
  const smaller: ImageStore['smaller'] = {
    ...store.smaller,
    async get(hash, form) {
      asked.push(hash)
      if (hash === hashes[1] && isAway) throw new BlobsUnavailableError('the blobs are unavailable')
      return await store.smaller.get(hash, form)
    },
  }
  const apply = applying(
    hashes.map((hash) => [hash, { products: 1 }] as const),
    { ...store, smaller },
  )
  await expect(apply()).rejects.toThrow(TargetUnavailableError)
  isAway = false
  asked.length = 0
  expect(await apply()).toEqual({ outcome: 'applied' })
  expect(new Set(asked)).toEqual(new Set([hashes[1]]))
  expect(await widths(hashes[1])).toEqual([150, 210, 210, 210])
})

test('while the disk of the image store is full, the sink retries the image instead of skipping it', async () => {
  const { keep, applying, widths, warnings } = await opened()
  const hash = await keep(await picture({ width: 200, height: 100 }))
  const apply = applying([[hash, { products: 1 }]])
  const file = await open(import.meta.filename)
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const writing = vi.spyOn(Object.getPrototypeOf(file), 'writeFile').mockRejectedValue(full)
  onTestFinished(() => writing.mockRestore())
  await file.close()
  await expect(apply()).rejects.toThrow(TargetUnavailableError)
  writing.mockRestore()
  expect(await apply()).toEqual({ outcome: 'applied' })
  expect(warnings).toEqual([])
  expect(await widths(hash)).toEqual([150, 200, 200, 200])
})

test('reading continues at the committed offset of the group, unless this offset is beyond the end of the topic', async () => {
  const { store } = await opened()
  const target = smallerImagesTarget(store, { log: {} } as unknown as Parameters<typeof smallerImagesTarget>[1])
  const committed = (offset: number) => ({ ...FACTS, committed: { offset, metadata: '' } })
  expect(await target.open(PLACE, FACTS)).toBeUndefined()
  expect(await target.open(PLACE, committed(7))).toBe(7)
  expect(await target.open(PLACE, committed(10))).toBeUndefined()
})
