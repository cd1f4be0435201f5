/** Widths of the WebP files of every image, in pixels. Files are never enlarged, so a wider one may be narrower. */
export const IMAGE_WIDTHS = [150, 300, 600, 1200] as const

export type ImageWidth = (typeof IMAGE_WIDTHS)[number]

/**
 * Returns the name of an image's form in the store. The name must change when files of a width are made differently.
 */
export function imageForm(width: ImageWidth): string {
  return `webp-${width}`
}

export const IMAGE_FORMS: readonly string[] = IMAGE_WIDTHS.map(imageForm)

/** The width for lists. */
export const THUMBNAIL_WIDTH: ImageWidth = 300

/**
 * Returns the path of an image at the API, which always returns the same content. @param hash of the original's content
 */
export function imagePath(hash: string, width: ImageWidth): string {
  return `/api/v1/images/${hash}/${imageFile(width)}`
}

export function imageFile(width: ImageWidth): string {
  return `${width}.webp`
}
