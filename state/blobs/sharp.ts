import sharp from 'sharp'

/** Some loaders of other formats have a history of vulnerabilities, so none of them may read untrusted bytes. */
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadHeif'] })
// Callers process few images at a time, each on one thread, so that the rest of the process keeps a core.
sharp.concurrency(1)
sharp.cache(false)

export { sharp }
