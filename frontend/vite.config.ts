import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { fileURLToPath, URL } from 'node:url'
import { defineConfig } from 'vite'
import { compression } from 'vite-plugin-compression2'

// What this file imports stands under "dependencies": the product is built without the development tools.
export default defineConfig({
  plugins: [
    react(),
    tailwindcss(),
    // The server sends what lies beside a file in the encoding that a browser prefers: app_server/http/static_files.py.
    compression({ algorithms: ['brotliCompress', 'gzip'], threshold: 1024 }),
  ],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: {
    port: 5173,
    proxy: { '/api': { target: process.env.SLIPWAY_URL ?? 'http://localhost:3000', ws: true } },
  },
  build: {
    // The colour tokens rest on CSS light-dark(), which these versions know.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
  },
})
