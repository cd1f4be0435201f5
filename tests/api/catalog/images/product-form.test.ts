import { expect, test } from 'vitest'
import { catalogErrors } from '../../../../api/catalog/errors.ts'
import type { StoredImage } from '../../../../api/catalog/images/images.ts'
import { offeredImageList, offeredImages } from '../../../../api/catalog/images/offered.ts'
import { isForm, readProductForm } from '../../../../api/catalog/images/product-form.ts'
import { ApiError } from '../../../../api/kit/errors.ts'
import type { ArrivingBody } from '../../../../api/kit/route.ts'
import { imageIdOf } from '../../../../schemas/catalog/products/image-id.ts'
import { MOST_IMAGES } from '../../../../schemas/catalog/products/limits.ts'

const PRODUCT = { name: 'product', content: '{"title":"Saw"}' }

interface Part {
  readonly name: string
  readonly content: string
}

function form(parts: readonly Part[]): Buffer {
  const texts = parts.map(
    ({ name, content }) => `--b\r\nContent-Disposition: form-data; name="${name}"; filename="x.exe"\r\n\r\n${content}\r\n`,
  )
  return Buffer.from(`${texts.join('')}--b--\r\n`, 'latin1')
}

/**
 * Reads a form in chunks of 5 bytes, or of 1 MB if it is large. In place of a hash, each stored image has the content
 * of its file.
 */
async function read(body: Buffer, contentType = 'multipart/form-data; boundary=b') {
  const kept: string[] = []
  async function* pieces() {
    const size = body.length > 10_000 ? 1_000_000 : 5
    for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
  }
  const images = {
    keep: async (bytes: Buffer) => {
      if (bytes.toString() === 'bad') throw new ApiError(catalogErrors.invalid_image, { message: 'The image cannot be decoded.' })
      kept.push(bytes.toString())
      return stored(bytes.toString())
    },
  }
  const arriving: ArrivingBody = { contentType, pieces: pieces(), whole: async () => body }
  return { ...(await readProductForm(arriving, images, { bytes: 0 })), kept }
}

function stored(content_hash: string): StoredImage {
  return { content_hash, content_type: 'image/png', width: 3, height: 2 }
}

test('the product and the files of a form are read, and the files keep their order, whether the product or the files come first', async () => {
  const files = ['one', 'two'].map((content) => ({ name: 'images', content }))
  for (const parts of [
    [PRODUCT, ...files],
    [...files, PRODUCT],
  ])
    expect(await read(form(parts))).toEqual({ product: { title: 'Saw' }, uploads: [stored('one'), stored('two')], kept: ['one', 'two'] })
  expect(await read(form([PRODUCT]))).toMatchObject({ uploads: [] })
})

test.each([
  ['without a product', form([{ name: 'images', content: 'x' }]), 'invalid_request'],
  ['with two products', form([PRODUCT, PRODUCT]), 'invalid_request'],
  ['with another part', form([PRODUCT, { name: 'other', content: '' }]), 'invalid_request'],
  ['with bad JSON', form([{ name: 'product', content: '{' }]), 'invalid_request'],
  ['with NUL', form([{ name: 'product', content: '{"title":"\\u0000"}' }]), 'invalid_encoding'],
  ['with bad UTF-8', form([{ name: 'product', content: '{"title":"\xff"}' }]), 'invalid_encoding'],
  ['that ends within a file', form([PRODUCT, { name: 'images', content: 'abcdef' }]).subarray(0, -20), 'invalid_request'],
  ['that ends before its last boundary', form([PRODUCT]).subarray(0, -6), 'invalid_request'],
  ['without anything', Buffer.alloc(0), 'invalid_request'],
  [
    'with 21 files',
    form([PRODUCT, ...Array.from({ length: MOST_IMAGES + 1 }, () => ({ name: 'images', content: 'x' }))]),
    'invalid_request',
  ],
  ['with a file above 10 MB', form([PRODUCT, { name: 'images', content: 'x'.repeat(10_000_001) }]), 'content_too_large'],
  ['with a product above 1 MiB', form([{ name: 'product', content: ' '.repeat(1_048_577) }]), 'content_too_large'],
])('a form %s is refused', async (_what, body, code) => {
  await expect(read(body)).rejects.toMatchObject({ definition: { code } })
})

test('an error about one of several files names the file', async () => {
  const formWith = (content: string) =>
    form([PRODUCT, ...['one', 'two', content, 'four'].map((file) => ({ name: 'images', content: file }))])
  await expect(read(formWith('bad'))).rejects.toMatchObject({
    definition: { code: 'invalid_image' },
    message: 'File 2 of the form, counted from 0: The image cannot be decoded.',
    options: { fields: { upload: 2 } },
  })
  await expect(read(formWith('x'.repeat(10_000_001)))).rejects.toMatchObject({
    definition: { code: 'content_too_large' },
    message: 'File 2 of the form, counted from 0: The image has more than 10000000 bytes.',
    options: { fields: { upload: 2 } },
  })
})

test('a form may have twenty files, and a file may have 10 MB', async () => {
  const parts = Array.from({ length: MOST_IMAGES }, (_, index) => ({ name: 'images', content: String(index) }))
  expect((await read(form([PRODUCT, ...parts]))).uploads).toHaveLength(MOST_IMAGES)
  expect((await read(form([PRODUCT, { name: 'images', content: 'x'.repeat(10_000_000) }]))).uploads).toHaveLength(1)
})

/** Reads a form with three files and a product in one chunk per part. The check of each file waits for `until`. */
function reading(waiting: { bytes: number }, until: Promise<unknown>) {
  const state = { chunks: 0, checks: 0 }
  const body = form([...['a', 'b', 'c'].map((content) => ({ name: 'images', content })), PRODUCT])
  const starts = [...body.toString().matchAll(/--b\r\n/g)].map(({ index }) => index)
  async function* pieces() {
    for (const [index, start] of starts.entries()) {
      state.chunks++
      yield body.subarray(start, starts[index + 1])
    }
  }
  const images = {
    async keep(bytes: Buffer) {
      state.checks++
      await until
      return stored(bytes.toString())
    },
  }
  const arriving: ArrivingBody = { contentType: 'multipart/form-data; boundary=b', pieces: pieces(), whole: async () => body }
  return { state, read: readProductForm(arriving, images, waiting) }
}

test('a form is received while its first file is checked, so that checks do not count towards the time limit of the body', async () => {
  const checked = Promise.withResolvers<void>()
  const waiting = { bytes: 0 }
  const { state, read } = reading(waiting, checked.promise)
  await expect.poll(() => state).toEqual({ chunks: 4, checks: 1 })
  expect(waiting.bytes).toBe(3)
  checked.resolve()
  expect((await read).uploads).toEqual(['a', 'b', 'c'].map(stored))
  expect(waiting.bytes).toBe(0)
})

test('while the files of all forms exceed the memory limit, a form is received only as fast as its files are checked', async () => {
  const checked = Promise.withResolvers<void>()
  const { state, read } = reading({ bytes: 128 * 1_048_576 }, checked.promise)
  await expect.poll(() => state).toEqual({ chunks: 2, checks: 1 })
  await new Promise((resolve) => setImmediate(resolve))
  expect(state.chunks).toBe(2)
  checked.resolve()
  expect((await read).uploads).toHaveLength(3)
})

test('after one file of a form fails its check, the other files are not checked, and the bytes of the form no longer count as waiting', async () => {
  const waiting = { bytes: 0 }
  const { state, read } = reading(waiting, Promise.reject(new Error('not an image')))
  await expect(read).rejects.toThrow('not an image')
  await new Promise((resolve) => setImmediate(resolve))
  expect([state.checks, waiting.bytes]).toEqual([1, 0])
})

test('only multipart/form-data is a form', () => {
  for (const type of ['multipart/form-data; boundary=b', 'Multipart/Form-Data;boundary=b']) expect(isForm(type)).toBe(true)
  for (const type of ['application/json', 'multipart/form-datax', 'text/multipart/form-data', undefined]) expect(isForm(type)).toBe(false)
})

const IMAGE = { image_id: 11, variant_id: 1_281, position: 0, alt_text: 'front', ...stored('old') }
const PRESENT = { product_id: 5, images: [IMAGE], variants: [{ variant_id: 1_281, sku: 'a' }] }

test('without a list, a product keeps its images if the form has no files, and otherwise gets the files instead; an empty list removes all images', () => {
  expect(offeredImages({ list: undefined, uploads: [], skus: [], place: 'body' }, PRESENT)).toBeNull()
  expect(offeredImages({ list: [], uploads: [], skus: [], place: 'body' }, PRESENT)).toEqual([])
  const uploads = [stored('x'), stored('y'), stored('x')]
  expect(offeredImages({ list: undefined, uploads, skus: [], place: 'body' }, PRESENT)).toEqual([
    { image_id: imageIdOf(5, 'x'), sku: null, alt_text: null, ...stored('x') },
    { image_id: imageIdOf(5, 'y'), sku: null, alt_text: null, ...stored('y') },
  ])
})

test("a list combines the product's images with new files, and changes their properties", () => {
  const list = [{ upload: 0, alt_text: 'new', sku: 'b' }, { image_id: 11 }]
  expect(offeredImages({ list, uploads: [stored('x')], skus: ['a', 'b'], place: 'body' }, PRESENT)).toEqual([
    { image_id: imageIdOf(5, 'x'), sku: 'b', alt_text: 'new', ...stored('x') },
    { image_id: 11, sku: 'a', alt_text: 'front', ...stored('old') },
  ])
  expect(
    offeredImages({ list: [{ image_id: 11, alt_text: null, sku: null }], uploads: [], skus: ['a'], place: 'body' }, PRESENT),
  ).toMatchObject([{ image_id: 11, sku: null, alt_text: null }])
})

test('of two list entries with the same picture, only the first is used, but a list that names the picture for two variants is refused', () => {
  const uploads = [stored('x'), stored('x')]
  const listOf = (...skus: (string | null)[]) => skus.map((sku, upload) => ({ upload, alt_text: String(upload), sku }))
  for (const skus of [
    ['a', 'a'],
    ['a', null],
    [null, 'a'],
  ])
    expect(offeredImages({ list: listOf(...skus), uploads, skus: ['a', 'b'], place: 'body' }, PRESENT)).toMatchObject([
      { sku: skus[0], alt_text: '0' },
    ])
  for (const list of [listOf('a', 'b'), [listOf('a')[0], { upload: 0, sku: 'b' }]])
    expect(() => offeredImages({ list, uploads: uploads.slice(0, list[1].upload! + 1), skus: ['a', 'b'], place: 'body' }, PRESENT)).toThrow(
      expect.objectContaining({ options: { details: [expect.objectContaining({ path: 'body.images[1].sku' })] } }),
    )
})

test('positions change the order of a list, and an image without a position keeps its place', () => {
  const list = [{ upload: 0, position: 9 }, { image_id: 11 }, { upload: 1, position: 0 }]
  const images = offeredImages({ list, uploads: [stored('x'), stored('y')], skus: ['a'], place: 'body' }, PRESENT)!
  expect(images.map(({ content_hash }) => content_hash)).toEqual([stored('y'), stored('old'), stored('x')].map((one) => one.content_hash))
})

test('the sku and the alternative text of an image are normalized like the texts of a product', () => {
  const [image] = offeredImageList.parse([{ upload: 0, alt_text: ' cafe\u0301 ', sku: ' A-1 ' }])
  expect(image).toEqual({ upload: 0, alt_text: 'caf\u00e9', sku: 'A-1' })
})

test.each([
  [[{ image_id: 12 }], [], 'body.images[0].image_id'],
  [[{ upload: 1 }, { upload: 0 }], ['x'], 'body.images[0].upload'],
  [[{ image_id: 11, sku: 'z' }], [], 'body.images[0].sku'],
  [[{ upload: 0 }], ['x', 'y'], 'body.images'],
])('the list %j with the files %j is refused because of %s', (list, uploads, path) => {
  const asked = { list, uploads: uploads.map(stored), skus: ['a'], place: 'body' }
  expect(() => offeredImages(asked, PRESENT)).toThrow(
    expect.objectContaining({ options: { details: [expect.objectContaining({ path })] } }),
  )
})

test.each([
  [[{}]],
  [[{ image_id: 1, upload: 0 }]],
  [[{ image_id: 0 }]],
  [[{ upload: 20 }]],
  [[{ upload: 0, alt_text: 'x'.repeat(301) }]],
  [[{ upload: 0, alt_text: 'a\u0007b' }]],
  [[{ upload: 0, position: -1 }]],
  [[{ upload: 0, position: 32_768 }]],
  [[{ upload: 0, url: 'x' }]],
  [Array.from({ length: 21 }, () => ({ image_id: 1 }))],
])('the list %j is not valid', (list) => {
  expect(offeredImageList.safeParse(list).success).toBe(false)
})

test('image ids are safe positive integers that are derived from product and content', () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => imageIdOf(index + 1, 'hash'))
  expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
  expect(new Set(ids).size).toBe(1_000)
  expect(imageIdOf(5, 'a')).not.toBe(imageIdOf(5, 'b'))
})
