import { render } from 'preact'
import { App, startEarly } from './app.tsx'
import './style.css'
import { applyTheme } from './theme.ts'

const first = startEarly()
applyTheme()
const root = document.getElementById('app')
if (root !== null) render(<App first={first} />, root)
