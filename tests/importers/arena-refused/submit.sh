arena submit tfjob --workers=$N --sync-mode=rsync --sync-source=host::code --worker-imge=a "python $PROGRAM"
