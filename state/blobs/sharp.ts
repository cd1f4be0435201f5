import sharp from 'sharp'

/**
 * Blocks the loaders of all other image formats, because some have a history of vulnerabilities and must not read
 * untrusted bytes.
 */
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadHeif'] })
// Callers process few images at a time. One thread per image leaves a core for the rest of the process.
sharp.concurrency(1)
sharp.cache(false)

export { sharp }
