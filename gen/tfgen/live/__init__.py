"""A job in its cluster: reads what is there, and judges it. Of these modules `connection` alone needs tfgen[live]."""
