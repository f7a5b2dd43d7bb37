"""A job in its cluster: reads what is there, and judges it. What imports `kubernetes_client` needs tfgen[live]."""
