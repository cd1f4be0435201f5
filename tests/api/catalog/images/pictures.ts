import sharp from 'sharp'

export interface PictureOptions {
  readonly width: number
  readonly height: number
  readonly format?: 'jpeg' | 'png' | 'webp' | 'avif' | 'gif' | 'tiff'
  /** EXIF orientation. If it is set, the picture also names a photographer and a place. */
  readonly orientation?: number
  readonly background?: string
}

/** Makes a picture whose left half is red. With an orientation, it also has EXIF data about its author and place. */
export async function picture({ width, height, format = 'jpeg', orientation, background = 'blue' }: PictureOptions): Promise<Buffer> {
  const half = { create: { width: Math.ceil(width / 2), height, channels: 3 as const, background: 'red' } }
  const image = sharp({ create: { width, height, channels: 3, background } }).composite([{ input: half, left: 0, top: 0 }])
  const tagged =
    orientation === undefined
      ? image
      : image.withMetadata({ orientation }).withExifMerge({ IFD0: { Artist: 'Ann Example' }, IFD3: { GPSLatitude: '1/1 2/1 3/1' } })
  return await tagged.toFormat(format).toBuffer()
}
