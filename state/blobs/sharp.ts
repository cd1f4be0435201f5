import sharp from 'sharp'

/**
 * Blocks the loaders of all image formats except JPEG, PNG, WebP and HEIF. Some of the blocked loaders have a history
 * of vulnerabilities and must not read untrusted bytes.
 */
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadHeif'] })
// Callers process few images at a time, so one thread per image is enough and leaves a core for the rest of the
// process.
sharp.concurrency(1)
sharp.cache(false)

export { sharp }
