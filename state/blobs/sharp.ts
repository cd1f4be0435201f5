import sharp from 'sharp'

/** Loaders of other formats, some of which have a history of faults, never see the bytes of strangers. */
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: ['VipsForeignLoadJpeg', 'VipsForeignLoadPng', 'VipsForeignLoadWebp', 'VipsForeignLoadHeif'] })
// Callers process few images at a time, each on one thread, so that the rest of the process keeps a core.
sharp.concurrency(1)
sharp.cache(false)

export { sharp }
