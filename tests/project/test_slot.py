"""Slots of real nodes: two nodes at a time have different names and separate networks, and a third node waits."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from itertools import combinations
from threading import Thread

from tests.e2e.slot import SLOTS, Slot, free_slot


def networks(slot):
    return [ip_network(text) for text in (slot.cable, slot.pods, slot.services)]


def test_the_names_and_networks_of_all_slots_are_separate():
    assert len({Slot(number).name for number in range(SLOTS)}) == SLOTS
    every = [network for number in range(SLOTS) for network in networks(Slot(number))]
    assert not [pair for pair in combinations(every, 2) if pair[0].overlaps(pair[1])]


def test_the_addresses_of_a_slot_are_in_its_networks():
    slot = Slot(1)
    cable, _, services = networks(slot)
    assert {ip_address(slot.outside), ip_address(slot.inside)} == {*cable.hosts()}
    assert ip_address(slot.dns) in services


def test_a_third_node_waits_for_a_free_slot(tmp_path):
    entered = []

    def enter():
        with free_slot(tmp_path) as slot:
            entered.append(slot.number)

    third = Thread(target=enter)
    with free_slot(tmp_path) as first:
        with free_slot(tmp_path) as second:
            assert (first.number, second.number) == (0, 1)
            third.start()
            third.join(1.5)  # a thread that does not wait would have ended
            assert entered == []
        third.join()
    assert entered == [1]
