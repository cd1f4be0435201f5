/**
 * Widths of the WebP files of every image, in pixels. Images are never enlarged, so a file may be narrower than its
 * nominal width.
 */
export const IMAGE_WIDTHS = [150, 300, 600, 1200] as const

export type ImageWidth = (typeof IMAGE_WIDTHS)[number]

/**
 * Returns the name under which the file of this width is stored. Change the name when the files are generated
 * differently.
 */
export function imageForm(width: ImageWidth): string {
  return `webp-${width}`
}

export const IMAGE_FORMS: readonly string[] = IMAGE_WIDTHS.map(imageForm)

/** Width of the images in lists. */
export const THUMBNAIL_WIDTH: ImageWidth = 300

/**
 * Returns the path of an image in the API. The content at a path never changes.
 * @param hash hash of the original's content
 */
export function imagePath(hash: string, width: ImageWidth): string {
  return `/api/v1/images/${hash}/${imageFile(width)}`
}

export function imageFile(width: ImageWidth): string {
  return `${width}.webp`
}
