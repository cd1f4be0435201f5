import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ModelManifest, parseManifest } from '../../../schemas/fraud/models/manifest.ts'
import shipped from '../../../schemas/fraud/models/shipped/default.json' with { type: 'json' }

/** A model whose manifest can be read. The model file itself is checked when it is loaded. */
export interface AvailableModel {
  readonly manifest: ModelManifest
  readonly manifestPath: string
  /** Whether the model comes with the repository. */
  readonly isShipped: boolean
}

/** A manifest that cannot be used, or a folder that cannot be read. */
export interface BrokenModel {
  readonly manifestPath: string
  readonly fault: string
}

export interface ModelFolders {
  readonly available: readonly AvailableModel[]
  readonly broken: readonly BrokenModel[]
}

const SHIPPED = fileURLToPath(new URL('../../../schemas/fraud/models/shipped/', import.meta.url))
/** Name of the file with the versions that score by default. */
const DEFAULT_FILE = 'default.json'
const MANIFEST = /\.json$/

/** The versions of the shipped models. */
export const SHIPPED_VERSIONS = shipped.versions

/**
 * Reads all manifests: first the manifests of the shipped models, then those in the operator's folder. If two manifests
 * have the same name and version, the first one is used, and the second one is listed as broken.
 * @param ownFolder the operator's folder; undefined if there is none
 */
export async function readModelFolders(ownFolder: string | undefined): Promise<ModelFolders> {
  const available = new Map<string, AvailableModel>()
  const broken: BrokenModel[] = []
  for (const folder of [SHIPPED, ownFolder]) {
    if (folder === undefined) continue
    for (const name of await manifestsIn(folder, broken)) {
      const manifestPath = join(folder, name)
      try {
        const manifest = parseManifest(await readFile(manifestPath, 'utf8'))
        const key = `${manifest.name} ${manifest.version}`
        if (available.has(key)) broken.push({ manifestPath, fault: `Another manifest already describes ${key}.` })
        else available.set(key, { manifest, manifestPath, isShipped: folder === SHIPPED })
      } catch (error) {
        broken.push({ manifestPath, fault: (error as Error).message })
      }
    }
  }
  return { available: [...available.values()], broken }
}

async function manifestsIn(folder: string, broken: BrokenModel[]): Promise<string[]> {
  try {
    const names = await readdir(folder)
    return names.filter((name) => MANIFEST.test(name) && name !== DEFAULT_FILE).sort()
  } catch (error) {
    broken.push({ manifestPath: folder, fault: (error as Error).message })
    return []
  }
}
