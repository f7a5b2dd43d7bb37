print('{{ x }}')
