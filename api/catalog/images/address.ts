import { IMAGE_WIDTHS, type ImageWidth } from '../../../schemas/catalog/products/image-forms.ts'

export { IMAGE_WIDTHS, type ImageWidth }

/** The width for lists. */
export const THUMBNAIL_WIDTH: ImageWidth = 300

/**
 * Returns the address of an image, which never shows anything else.
 * @param publicUrl base of absolute URLs
 * @param hash of the original's content
 */
export function imageUrl(publicUrl: string, hash: string, width: ImageWidth): string {
  return `${publicUrl}/api/v1/images/${hash}/${imageFile(width)}`
}

export function imageFile(width: ImageWidth): string {
  return `${width}.webp`
}

/** @param file a name that `imageFile` returns */
export function widthOfFile(file: string): ImageWidth {
  return Number.parseInt(file, 10) as ImageWidth
}
