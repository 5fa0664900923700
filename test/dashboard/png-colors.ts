/** What a picture really shows: pixels of a PNG (8 bits per channel, no interlace, as Chromium writes it). */
import { inflateSync } from 'node:zlib'

export type Color = readonly [red: number, green: number, blue: number]

const NEAR = 4

/** How many pixels have about each colour. */
export function countColors<Name extends string>(
  png: Buffer,
  wanted: Record<Name, Color>,
): Record<Name, number> {
  const names = Object.keys(wanted) as Name[]
  const counts = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
  for (const pixel of pixelsOf(png)) {
    const found = names.find((name) => wanted[name].every((value, i) => near(value, pixel[i] ?? 0)))
    if (found !== undefined) counts[found]++
  }
  return counts
}

const near = (a: number, b: number) => Math.abs(a - b) <= NEAR

function* pixelsOf(png: Buffer): Generator<Uint8Array> {
  const width = png.readUInt32BE(16)
  const channels = png[25] === 6 ? 4 : 3
  const data = inflateSync(imageData(png))
  const stride = width * channels
  let above = new Uint8Array(stride)
  for (let row = 0; (row + 1) * (stride + 1) <= data.length; row++) {
    const filter = data[row * (stride + 1)] ?? 0
    const line = Uint8Array.from(data.subarray(row * (stride + 1) + 1, (row + 1) * (stride + 1)))
    for (let i = 0; i < stride; i++) {
      const left = i >= channels ? (line[i - channels] ?? 0) : 0
      const corner = i >= channels ? (above[i - channels] ?? 0) : 0
      line[i] = (line[i] ?? 0) + predicted(filter, left, above[i] ?? 0, corner)
    }
    for (let i = 0; i < stride; i += channels) yield line.subarray(i, i + 3)
    above = line
  }
}

function imageData(png: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  return Buffer.concat(parts)
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const guess = left + up - corner
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}
