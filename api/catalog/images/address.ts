import { IMAGE_WIDTHS, type ImageWidth, imageFile, imagePath, THUMBNAIL_WIDTH } from '../../../schemas/catalog/products/image-forms.ts'

export { IMAGE_WIDTHS, type ImageWidth, imageFile, THUMBNAIL_WIDTH }

/**
 * Returns the address of an image. The content at an address never changes.
 * @param publicUrl base URL of the image's address
 * @param hash hash of the content of the original image
 */
export function imageUrl(publicUrl: string, hash: string, width: ImageWidth): string {
  return `${publicUrl}${imagePath(hash, width)}`
}

/**
 * Returns the width that an image's file name contains, in pixels.
 * @param file a name that `imageFile` returns
 */
export function widthOfFile(file: string): ImageWidth {
  return Number.parseInt(file, 10) as ImageWidth
}
