import { mkdir } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { syncFolder } from './chunks.ts'

/** Creates a folder and those above it where they are missing; what was created is on disk when this returns. */
export async function makeFolder(path: string): Promise<void> {
  const whole = resolve(path)
  const first = await mkdir(whole, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = whole; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}
