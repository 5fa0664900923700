import { appendFile, mkdir, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Where dead letters are stored. */
export interface LetterFiles {
  /** Appends lines; a file that would exceed the size is first renamed to `….old`. */
  append(file: string, lines: string, maxBytes: number): Promise<void>
}

export const letterFilesOnDisk: LetterFiles = {
  async append(file, lines, maxBytes) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const { size } = await stat(file).catch(() => ({ size: 0 }))
    if (size > 0 && size + lines.length > maxBytes) await rename(file, `${file}.old`)
    await appendFile(file, lines, { mode: 0o600 })
  },
}
