/** Keeps the samples of sealed pages in a file, so that changes made while nothing was running are found too. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SampleStorage } from './audit.ts'

export function sampleFile(path: string): SampleStorage {
  return {
    async load() {
      try {
        return await readFile(path, 'utf8')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw error
      }
    },
    async save(text) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(`${path}.new`, text, { mode: 0o600 })
      await rename(`${path}.new`, path)
    },
  }
}
