"""Why an agent acted as it did: pure functions that tell a wrong strategy from a wrong memory from a wrong clamp.

``prompt_diff`` compares what two turns were told, ``knowledge_diff`` what they knew; ``told`` says what of a
turn's knowledge stands in its prompt, ``not_known`` what others at the table knew and it did not, ``chain_of`` how the
answer became what left. All of them are bounded, and take any value at all.
"""
