import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { sweepImages } from '../../../../pipelines/catalog/images/sweep.ts'
import { IMAGE_FORMS } from '../../../../schemas/catalog/products/image-forms.ts'
import { connectImages } from '../../../../state/blobs/images.ts'
import { imageReferences } from '../../../../state/views/catalog/catalog-images.ts'
import { referencedIn } from '../../../../state/views/references.ts'

const HOUR = 3_600_000

async function opened() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-swept-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const store = await connectImages({ url: pathToFileURL(folder).href, s3Endpoint: undefined })

  /** Stores an image with all its smaller forms. */
  async function keep(text: string): Promise<string> {
    const draft = store.originals.draft()
    await draft.write(Buffer.from(text))
    const { hash } = await store.originals.keep(draft)
    for (const form of IMAGE_FORMS) await store.smaller.put(hash, form, Buffer.from(`${text} ${form}`))
    return hash
  }

  function sweep(referenced: (hashes: readonly string[]) => Promise<ReadonlySet<string>>, before: number) {
    return sweepImages(store, { referenced, before, signal: new AbortController().signal })
  }

  async function formsOf(hash: string): Promise<number> {
    const forms = await Promise.all(IMAGE_FORMS.map((form) => store.smaller.get(hash, form)))
    return forms.filter((form) => form !== undefined).length
  }

  return { folder, store, keep, sweep, formsOf }
}

test('images that are old enough and that no product uses are removed with their smaller forms, and all others stay', async () => {
  const { folder, store, keep, sweep, formsOf } = await opened()
  const [wanted, orphan] = [await keep('wanted'), await keep('orphan')]
  const referenced = async (hashes: readonly string[]) => new Set(hashes.filter((hash) => hash === wanted))
  expect(await sweep(referenced, Date.now() - HOUR)).toMatchObject({ seen: 2, removed: 0 })
  expect(await formsOf(orphan)).toBe(IMAGE_FORMS.length)
  expect(await sweep(referenced, Date.now() + HOUR)).toMatchObject({ seen: 2, removed: 1 })
  expect(await store.originals.open(wanted)).toBeDefined()
  expect(await formsOf(wanted)).toBe(IMAGE_FORMS.length)
  expect(await formsOf(orphan)).toBe(0)
  expect(readdirSync(join(folder, 'originals'), { recursive: true }).filter((name) => String(name).endsWith('.zst'))).toHaveLength(1)
})

test('no image is removed while it is unknown which images products use', async () => {
  const { keep, sweep, formsOf } = await opened()
  const hash = await keep('perhaps wanted')
  const reader = { exists: async () => 0, hget: async () => String(HOUR) }
  const referenced = (hashes: readonly string[]) => referencedIn(imageReferences, reader, { partitions: 2, hashes, madeBefore: HOUR })
  await expect(sweep(referenced, Date.now() + HOUR)).rejects.toThrow('have not caught up')
  expect(await formsOf(hash)).toBe(IMAGE_FORMS.length)
})

test.each([null, String(HOUR - 1)])(
  'no image is removed while a partition of the references is behind (complete at %s)',
  async (completeAt) => {
    const { keep, sweep, formsOf } = await opened()
    const hash = await keep('referenced by a record that the view does not contain yet')
    const reader = { exists: async (key: string) => Number(key.endsWith(':caught-up')), hget: async () => completeAt }
    const referenced = (hashes: readonly string[]) => referencedIn(imageReferences, reader, { partitions: 2, hashes, madeBefore: HOUR })
    await expect(sweep(referenced, Date.now() + HOUR)).rejects.toThrow('not up to date')
    expect(await formsOf(hash)).toBe(IMAGE_FORMS.length)
  },
)

test('an image counts as referenced if a product in any partition has it', async () => {
  const keys = new Set(['{catalog-images:0}:caught-up', '{catalog-images:1}:caught-up', '{catalog-images:1}:image:b'])
  const reader = { exists: async (key: string) => Number(keys.has(key)), hget: async () => String(HOUR) }
  expect(await referencedIn(imageReferences, reader, { partitions: 2, hashes: ['a', 'b'], madeBefore: HOUR })).toEqual(new Set(['b']))
})

test('if a sweep fails before it has removed the smaller forms of an image, the next sweep removes them', async () => {
  const { store, keep, sweep, formsOf } = await opened()
  const orphan = await keep('orphan')
  const cut = { ...store, smaller: { ...store.smaller, remove: () => Promise.reject(new Error('the disk failed')) } }
  const options = { referenced: async () => new Set<string>(), before: Date.now() + HOUR, signal: new AbortController().signal }
  await expect(sweepImages(cut, options)).rejects.toThrow('the disk failed')
  expect(await sweep(async () => new Set(), Date.now() + HOUR)).toMatchObject({ removed: 1 })
  expect(await formsOf(orphan)).toBe(0)
})

test('a smaller form does not remain if it is made just before the original is removed', async () => {
  const { store, keep, formsOf } = await opened()
  const orphan = await keep('orphan')
  const { originals, smaller } = store
  const shelf = {
    ...originals.shelf,
    async removeUntouched(hash: string, before: number) {
      await smaller.put(hash, IMAGE_FORMS[0], Buffer.from('made late'))
      return await originals.shelf.removeUntouched(hash, before)
    },
  }
  const options = { referenced: async () => new Set<string>(), before: Date.now() + HOUR, signal: new AbortController().signal }
  expect(await sweepImages({ originals: { ...originals, shelf }, smaller }, options)).toMatchObject({ removed: 1 })
  expect(await formsOf(orphan)).toBe(0)
})
