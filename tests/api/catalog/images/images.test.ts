import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { IMAGE_WIDTHS } from '../../../../api/catalog/images/address.ts'
import { checkImage } from '../../../../api/catalog/images/check.ts'
import { gate } from '../../../../api/catalog/images/gate.ts'
import { images } from '../../../../api/catalog/images/images.ts'
import { imagesPart } from '../../../../api/catalog/images/part.ts'
import { BlobsUnavailableError } from '../../../../state/blobs/blob-store.ts'
import { connectBlobs } from '../../../../state/blobs/connect.ts'
import { connectImages } from '../../../../state/blobs/images.ts'
import { BlobCorruptError } from '../../../../state/blobs/read.ts'
import { sweepBlobs } from '../../../../state/blobs/sweep.ts'
import { testApp } from '../../kit/harness.ts'
import { picture } from './pictures.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-images-'))
const store = await connectImages({ url: pathToFileURL(folder).href, s3Endpoint: undefined })

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(['jpeg', 'png', 'webp', 'avif'] as const)(
  'an uploaded %s keeps its format, and is stored upright and without metadata',
  async (format) => {
    // The picture is stored sideways: orientation 6 makes a viewer rotate it 90° clockwise.
    const bytes = await picture({ width: 60, height: 40, format, orientation: 6 })
    expect((await sharp(bytes).metadata()).exif?.includes('Ann Example')).toBe(true)
    const checked = await checkImage(bytes)
    expect(checked).toMatchObject({ contentType: `image/${format}`, width: 40, height: 60 })
    const metadata = await sharp(checked.bytes).metadata()
    expect(metadata).toMatchObject({ width: 40, height: 60 })
    expect([metadata.exif, metadata.xmp, metadata.iptc]).toEqual([undefined, undefined, undefined])
    expect(checked.bytes.includes('Ann Example')).toBe(false)
    // The red half was on the left, so it is now at the top.
    const [red, , blue] = await sharp(checked.bytes).extract({ left: 20, top: 5, width: 1, height: 1 }).removeAlpha().raw().toBuffer()
    expect(red).toBeGreaterThan(200)
    expect(blue).toBeLessThan(60)
  },
)

test.each(['gif', 'tiff'] as const)('a %s is refused', async (format) => {
  await expect(checkImage(await picture({ width: 8, height: 8, format }))).rejects.toMatchObject({ definition: { code: 'invalid_image' } })
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['text', Buffer.from('not an image')],
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>')],
  ['the beginning of a JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1')],
  ['a WebP without content', Buffer.from('RIFF\x04\0\0\0WEBP', 'latin1')],
])('%s is refused', async (_what, bytes) => {
  await expect(checkImage(bytes)).rejects.toMatchObject({ definition: { code: 'invalid_image' } })
})

test.each(['jpeg', 'png', 'webp', 'avif'] as const)('a truncated %s is refused', async (format) => {
  const bytes = await picture({ width: 600, height: 400, format })
  await expect(checkImage(bytes.subarray(0, Math.floor(bytes.length * 0.7)))).rejects.toMatchObject({
    definition: { code: 'invalid_image' },
  })
})

test('a photo by a Samsung phone is accepted, although its scan header is wrong', async () => {
  const bytes = await samsungPhoto()
  expect(await checkImage(bytes)).toMatchObject({ contentType: 'image/jpeg', width: 600, height: 400 })
  await expect(checkImage(bytes.subarray(0, Math.floor(bytes.length * 0.7)))).rejects.toMatchObject({
    definition: { code: 'invalid_image' },
  })
})

test('an AVIF file is recognised even if avif is only one of its compatible brands, and a HEIC file is refused', async () => {
  // Some programs write the general brand of HEIF first, and `avif` only among the compatible brands.
  const bytes = await picture({ width: 60, height: 40, format: 'avif' })
  expect(bytes.subarray(4, 12).toString()).toBe('ftypavif')
  bytes.write('mif1', 8)
  bytes.write('avif', 16)
  expect(await checkImage(bytes)).toMatchObject({ contentType: 'image/avif', width: 60, height: 40 })
  const heic = Buffer.from(bytes.toString('latin1').replaceAll('avif', 'heic'), 'latin1')
  await expect(checkImage(heic)).rejects.toMatchObject({ message: 'The image is not a JPEG, PNG, WebP or AVIF file.' })
})

test('a JPEG with damaged pixels is refused', async () => {
  const bytes = await picture({ width: 600, height: 400 })
  for (let at = scanHeaderEnd(bytes) + 40; at < bytes.length - 10; at += 97) bytes[at] ^= 0x55
  await expect(checkImage(bytes)).rejects.toMatchObject({ definition: { code: 'invalid_image' } })
})

/**
 * Some Samsung phones end the header of a JPEG's scan with 0 0 0 instead of 0 63 0. Browsers and image editors ignore
 * these three bytes, because they matter only in progressive JPEGs.
 */
async function samsungPhoto(): Promise<Buffer> {
  const bytes = await picture({ width: 600, height: 400 })
  bytes[scanHeaderEnd(bytes) - 2] = 0
  return bytes
}

function scanHeaderEnd(jpeg: Buffer): number {
  const start = jpeg.indexOf(Buffer.of(0xff, 0xda)) + 2
  return start + jpeg.readUInt16BE(start)
}

test('a JPEG of more than 50 megapixels is refused, however small its file is', async () => {
  const bomb = await sharp({ create: { width: 8_000, height: 6_251, channels: 3, background: 'white' } })
    .jpeg({ quality: 1 })
    .toBuffer()
  expect(bomb.length).toBeLessThan(1_000_000)
  await expect(checkImage(bomb)).rejects.toMatchObject({ message: 'The image has more than 50 megapixels.' })
})

test('a file of less than 2 MB that would decode to more than 50 megapixels is refused before it is decoded', async () => {
  const bomb = await sharp({ create: { width: 8_000, height: 7_000, channels: 3, background: 'white' } })
    .png({ compressionLevel: 3 })
    .toBuffer()
  expect(bomb.length).toBeLessThan(2_000_000)
  const before = process.memoryUsage().rss
  await expect(checkImage(bomb)).rejects.toMatchObject({
    definition: { code: 'invalid_image' },
    message: 'The image has more than 50 megapixels.',
  })
  expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
})

test('smaller versions have four fixed widths, but are never wider than the original', async () => {
  const service = images(store)
  const { content_hash } = await service.keep(await picture({ width: 800, height: 400 }))
  const sizes = await Promise.all(
    IMAGE_WIDTHS.map(async (width) => {
      const { format, width: pixels, height } = await sharp(await service.smaller(content_hash, width)).metadata()
      return [format, pixels, height]
    }),
  )
  expect(sizes).toEqual([
    ['webp', 150, 75],
    ['webp', 300, 150],
    ['webp', 600, 300],
    ['webp', 800, 400],
  ])
})

test('an image is made narrower if it would otherwise be taller than a WebP file can be', async () => {
  const service = images(store)
  const { content_hash, height } = await service.keep(await picture({ width: 750, height: 20_000, format: 'png' }))
  expect(height).toBe(20_000)
  const { format, width, height: most } = await sharp(await service.smaller(content_hash, 1200)).metadata()
  expect([format, width, most]).toEqual(['webp', 614, 16_383])
  expect((await sharp(await service.smaller(content_hash, 600)).metadata()).width).toBe(600)
})

test('a smaller version is made once, even for concurrent requests, and no version of an unknown original is made', async () => {
  let opened = 0
  function open(hash: string) {
    opened++
    return store.originals.open(hash)
  }
  const originals = { ...store.originals, open }
  const service = images({ ...store, originals })
  const { content_hash } = await service.keep(await picture({ width: 500, height: 300, background: 'green' }))
  const all = await Promise.all(Array.from({ length: 20 }, () => service.smaller(content_hash, 300)))
  expect(opened).toBe(1)
  expect(new Set(all.map((bytes) => bytes?.toString('base64'))).size).toBe(1)
  expect(await service.smaller(content_hash, 300)).toEqual(all[0])
  expect(opened).toBe(1)
  expect(await service.smaller('0'.repeat(64), 300)).toBeUndefined()
})

test('equal pictures get the same content hash', async () => {
  const service = images(store)
  const bytes = await picture({ width: 31, height: 31, format: 'png' })
  expect(await service.keep(bytes)).toEqual(await service.keep(bytes))
  expect(readdirSync(folder).sort()).toEqual(['originals', 'smaller'])
})

test('a sweep of the blobs of another service neither finds nor removes images', async () => {
  const service = images(store)
  const { content_hash } = await service.keep(await picture({ width: 40, height: 40, format: 'png' }))
  const form = await service.smaller(content_hash, 150)
  // The sweep runs on the folder that contains the image root. The settings forbid this location for the blobs of
  // another service, but even there the sweep must not remove images.
  const around = await connectBlobs({ url: pathToFileURL(folder).href, s3Endpoint: undefined })
  const { signal } = new AbortController()
  const sweep = await sweepBlobs({ blobs: around, referenced: async () => new Set(), before: Date.now() + 3_600_000, signal })
  expect(sweep).toMatchObject({ seen: 0, removed: 0 })
  expect(await store.originals.open(content_hash)).toBeDefined()
  expect(await service.smaller(content_hash, 150)).toEqual(form)
})

test('the image at an address may be cached for a year, and an unknown address gets 404', async () => {
  const service = images(store)
  const { app } = await testApp({
    services: [{ name: 'catalog', description: '', isUserId: () => true, errors: [], probes: [], routes: imagesPart(service).routes }],
  })
  const { content_hash } = await service.keep(await picture({ width: 200, height: 100, format: 'webp' }))
  const address = `/api/v1/images/${content_hash}/150.webp`
  const response = await app.request(address)
  expect([response.status, response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
    200,
    'image/webp',
    'public, max-age=31536000, immutable',
  ])
  expect((await sharp(Buffer.from(await response.arrayBuffer())).metadata()).width).toBe(150)
  expect((await app.request(address, { headers: { 'if-none-match': response.headers.get('etag')! } })).status).toBe(304)
  expect((await app.request(`/api/v1/images/${'0'.repeat(64)}/150.webp`)).status).toBe(404)
  for (const path of [`${content_hash}/151.webp`, `${content_hash}/150.png`, 'x/150.webp', `..%2F..%2Fetc/150.webp`])
    expect((await app.request(`/api/v1/images/${path}`)).status).toBe(400)
})

test('an outage of the store gives 503, but a damaged original gives 500, because a retry would fail too', async () => {
  const { content_hash } = await images(store).keep(await picture({ width: 90, height: 45, format: 'png' }))
  const statusAfter = async (error: Error) => {
    const open = () => Promise.reject(error)
    const { routes } = imagesPart(images({ ...store, originals: { ...store.originals, open } }))
    const { app } = await testApp({
      services: [{ name: 'catalog', description: '', isUserId: () => true, errors: [], probes: [], routes }],
    })
    const { status, headers } = await app.request(`/api/v1/images/${content_hash}/150.webp`)
    return [status, headers.get('retry-after')]
  }
  expect(await statusAfter(new BlobsUnavailableError('no answer'))).toEqual([503, '1'])
  expect(await statusAfter(new BlobCorruptError(content_hash))).toEqual([500, null])
})

test('a gate for two tasks runs at most two at once, and starts a waiting task when one ends', async () => {
  const two = gate(2)
  let running = 0
  let most = 0
  const ends: (() => void)[] = []
  const work = Array.from({ length: 5 }, () =>
    two.run(undefined, async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => ends.push(resolve))
      running--
    }),
  )
  for (let ended = 0; ended < 5; ended++) {
    await expect.poll(() => ends.length).toBeGreaterThan(ended)
    ends[ended]()
  }
  await Promise.all(work)
  expect(most).toBe(2)
  await expect(two.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await two.run('a', async () => 7)).toBe(7)
})
