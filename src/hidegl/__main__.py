from hidegl.cli import main

main()
