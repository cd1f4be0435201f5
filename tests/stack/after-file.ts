/**
 * A setup file of the project `integration`. Several test files share a process, so the servers that a file leaves
 * running must be stopped when the file ends, not when the process ends. Vitest runs this hook after the hooks of the
 * file.
 */
import { afterAll } from 'vitest'
import { finishFolders } from './folder.ts'

afterAll(finishFolders)
