"""Whoever names something of the standard library includes what gives it, or a header of ours that does.

The build does not see a forgotten one: it parses the standard headers once, before every file (cmake/TidemarkPrecompiled.cmake)."""

import re

from tidy.source import Tree, line_of

# What each header gives, and which others the standard makes it include.
GIVES = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal equal_range fill fill_n find find_if find_if_not "
    "for_each generate includes inplace_merge is_permutation is_sorted lexicographical_compare lower_bound make_heap max max_element merge min min_element minmax "
    "minmax_element mismatch next_permutation none_of nth_element partial_sort partition partition_point pop_heap push_heap remove remove_if replace replace_if reverse "
    "rotate search set_difference set_intersection set_union shuffle sort sort_heap stable_partition stable_sort transform unique unique_copy upper_bound",
    "any": "any any_cast",
    "array": "array get to_array tuple_size_v",
    "atomic": "atomic atomic_flag memory_order memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release memory_order_seq_cst",
    "barrier": "barrier",
    "bit": "bit_cast bit_ceil bit_width byteswap countl_zero countr_zero endian has_single_bit popcount rotl rotr",
    "bitset": "bitset",
    "cctype": "isalnum isalpha isdigit isspace isxdigit tolower toupper",
    "charconv": "chars_format errc from_chars to_chars",
    "chrono": "chrono chrono_literals",
    "cmath": "abs cbrt ceil exp exp2 fabs floor fmod isfinite isinf isnan ldexp llround log log10 log2 lround modf nan nextafter pow round signbit sqrt trunc",
    "compare": "compare_three_way partial_ordering strong_ordering weak_ordering",
    "concepts": "constructible_from convertible_to copy_constructible default_initializable derived_from floating_point integral invocable regular same_as signed_integral "
    "unsigned_integral",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "coroutine": "coroutine_handle coroutine_traits noop_coroutine suspend_always suspend_never",
    "csignal": "raise sig_atomic_t signal",
    "cstddef": "byte max_align_t nullptr_t ptrdiff_t size_t",
    "cstdint": "int16_t int32_t int64_t int8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
    "cstdio": "FILE fclose fflush fgetc fgets fopen fprintf fputc fputs fread fseek fwrite perror printf puts remove rename size_t snprintf ungetc",
    "cstdlib": "_Exit abort abs atexit exit free getenv llabs malloc qsort quick_exit rand realloc size_t strtod strtol strtoll strtoul strtoull",
    "cstring": "memchr memcmp memcpy memmove memset size_t strchr strcmp strcspn strerror strlen strncmp strrchr strspn strstr",
    "ctime": "clock clock_t gmtime localtime mktime size_t strftime time time_t timespec tm",
    "deque": "deque erase erase_if",
    "exception": "current_exception exception exception_ptr get_terminate rethrow_exception set_terminate terminate terminate_handler uncaught_exceptions",
    "expected": "bad_expected_access expected unexpect unexpected",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream filebuf",
    "functional": "bind_front cref equal_to function greater greater_equal hash identity invoke less less_equal minus move_only_function multiplies not_fn plus ranges::equal_to "
    "ranges::greater ranges::less ref reference_wrapper",
    "future": "async future future_status packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "get_time put_time quoted setfill setprecision setw",
    "ios": "boolalpha dec hex ios ios_base streamoff streamsize",
    "iosfwd": "istream ostream",
    "iostream": "cerr cin clog cout",
    "istream": "istream",
    "iterator": "advance back_inserter distance forward_iterator front_inserter input_iterator inserter istream_iterator istreambuf_iterator "
    "make_move_iterator make_reverse_iterator move_iterator next ostream_iterator prev random_access_iterator ranges::advance ranges::distance "
    "ranges::next ranges::prev reverse_iterator",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "erase erase_if list",
    "map": "erase_if map multimap",
    "memory": "addressof align allocator bad_weak_ptr const_pointer_cast construct_at default_delete destroy_at dynamic_pointer_cast enable_shared_from_this make_shared "
    "make_unique make_unique_for_overwrite shared_ptr static_pointer_cast uninitialized_copy unique_ptr weak_ptr",
    "mutex": "adopt_lock call_once defer_lock lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc launder nothrow nothrow_t",
    "numbers": "numbers",
    "numeric": "accumulate exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint partial_sum reduce",
    "optional": "bad_optional_access make_optional nullopt nullopt_t optional",
    "ostream": "endl flush ostream",
    "queue": "priority_queue queue",
    "random": "bernoulli_distribution default_random_engine discrete_distribution exponential_distribution geometric_distribution lognormal_distribution mt19937 mt19937_64 "
    "normal_distribution poisson_distribution random_device seed_seq uniform_int_distribution uniform_real_distribution",
    "ranges": "ranges::bidirectional_range ranges::forward_range ranges::input_range ranges::iota_view ranges::random_access_range ranges::range ranges::range_reference_t "
    "ranges::range_value_t ranges::reverse_view ranges::sized_range ranges::subrange views",
    "ratio": "micro milli nano ratio",
    "semaphore": "binary_semaphore counting_semaphore",
    "set": "erase_if multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "domain_error invalid_argument logic_error out_of_range overflow_error range_error runtime_error",
    "stop_token": "stop_callback stop_source stop_token",
    "string": "basic_string char_traits erase erase_if getline hash stod stoi stol stoll stoul stoull string string_literals to_string u8string",
    "string_view": "basic_string_view hash string_view string_view_literals",
    "system_error": "errc error_category error_code error_condition generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply forward_as_tuple get ignore make_from_tuple make_tuple tie tuple tuple_element_t tuple_size tuple_size_v",
    "type_traits": "add_const_t bool_constant common_type_t conditional_t decay_t enable_if_t false_type integral_constant invoke_result_t is_arithmetic_v is_assignable_v "
    "is_base_of_v is_const_v is_constant_evaluated is_constructible_v is_convertible_v is_copy_assignable_v is_copy_constructible_v is_default_constructible_v "
    "is_destructible_v is_empty_v is_enum_v is_floating_point_v is_integral_v is_invocable_r_v is_invocable_v is_lvalue_reference_v is_move_constructible_v "
    "is_nothrow_move_assignable_v is_nothrow_move_constructible_v is_pointer_v is_reference_v is_same_v is_signed_v is_standard_layout_v is_trivially_copyable_v "
    "is_trivially_destructible_v is_unsigned_v is_void_v make_signed_t make_unsigned_t remove_const_t remove_cv_t remove_cvref_t remove_pointer_t remove_reference_t "
    "true_type type_identity_t underlying_type_t void_t",
    "typeindex": "type_index",
    "typeinfo": "type_info",
    "unordered_map": "erase_if unordered_map unordered_multimap",
    "unordered_set": "erase_if unordered_multiset unordered_set",
    "utility": "as_const cmp_equal cmp_greater cmp_less declval exchange forward get in_place in_place_index_t in_place_t in_place_type in_place_type_t in_range index_sequence "
    "index_sequence_for integer_sequence make_index_sequence make_pair move move_if_noexcept pair piecewise_construct swap to_underlying tuple_size tuple_size_v unreachable",
    "valarray": "valarray",
    "variant": "get get_if holds_alternative monostate variant variant_alternative_t variant_size_v visit",
    "vector": "erase erase_if vector",
    "version": "",
}
CONTAINERS = "array deque forward_list list map queue set span stack string string_view unordered_map unordered_set vector".split()
# What each includes by the standard's synopsis of it, and what its own classes derive from or return.
ALSO = {
    **{container: ["compare", "initializer_list"] for container in CONTAINERS},
    "algorithm": ["initializer_list"],
    "bitset": ["string", "iosfwd"],
    "chrono": ["compare", "ratio"],
    "coroutine": ["compare"],
    "filesystem": ["compare", "string", "system_error", "chrono", "iosfwd"],
    "fstream": ["ios", "istream", "ostream", "string"],
    "future": ["system_error"],
    "iomanip": ["ios"],
    "ios": ["iosfwd", "system_error"],
    "iostream": ["ios", "istream", "ostream"],
    "istream": ["ios", "ostream"],
    "memory": ["compare"],
    "mutex": ["system_error"],
    "optional": ["compare"],
    "ostream": ["ios"],
    "random": ["initializer_list"],
    "ranges": ["compare", "initializer_list", "iterator"],
    "span": [],
    "sstream": ["ios", "istream", "ostream", "string"],
    "string_view": ["compare"],
    "system_error": ["compare", "string"],
    "thread": ["compare"],
    "tuple": ["compare"],
    "typeindex": ["compare"],
    "utility": ["compare", "initializer_list"],
    "valarray": ["initializer_list"],
    "variant": ["compare"],
}
# [iterator.range]: these come with every container but the adaptors; the rest of <iterator> with none.
RANGE_ACCESS = "begin cbegin cend data empty end rbegin rend size ssize"
# Names without std:: that the build does not see forgotten either.
BARE = {r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|(?:EXPECT|ASSERT)_[A-Z_]+)\s*\(": "gtest/gtest.h"}

_STANDARD = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)
# An algorithm of std::ranges is another name: <ranges> gives views, not algorithms.
_NAME = re.compile(r"\bstd\s*::\s*(?:(ranges)\s*::\s*)?(\w+)")
_GIVERS: dict[str, set[str]] = {}
for header, names in GIVES.items():
    for name in names.split():
        _GIVERS.setdefault(name, set()).add(header)
for name in RANGE_ACCESS.split():
    _GIVERS[name] = {"iterator", *CONTAINERS} - {"queue", "stack"}
    _GIVERS["ranges::" + name] = {"iterator", "ranges"}
for name in (*GIVES["algorithm"].split(), "move"):  # std::move of one thing is <utility>'s, of many we write as std::ranges::move
    _GIVERS["ranges::" + name] = {"algorithm"}
for name in ("nullptr_t", "ptrdiff_t", "size_t"):  # what they are declared with
    _GIVERS[name] |= {*CONTAINERS, "bitset", "optional", "tuple", "utility", "memory", "functional"}
_GIVERS["less"] |= {"map", "set", "queue"}  # their default


def includes_of_the_library(tree: Tree) -> list[str]:
    found, seen = [], {}
    for file in tree.cxx:
        code, there = tree.code(file), _there(tree, file, seen)
        wanted = {}  # name → where it is used first
        for match in _NAME.finditer(code):
            wanted.setdefault("::".join(filter(None, match.groups())), match.start())
        for name, at in wanted.items():
            givers = _GIVERS.get(name)
            if givers is None:
                found.append(f"{file}:{line_of(code, at)}: std::{name} is not in the table of tests/tidy/std_includes.py: add it to the headers that give it")
            elif not givers & there:
                found.append(f"{file}:{line_of(code, at)}: std::{name} without an include that gives it: {' or '.join(f'<{giver}>' for giver in sorted(givers))}")
        for pattern, header in BARE.items():
            match = re.search(pattern, code)
            if match and header not in there and not re.search(r"^\s*#\s*define\b.*" + pattern, code, re.M):
                found.append(f"{file}:{line_of(code, match.start())}: `{match[0]}` without <{header}>")
    return found


def _there(tree: Tree, file: str, seen: dict[str, set[str]]) -> set[str]:
    """The standard headers that a file has, by its own includes and by those of ours that it includes. Cycles are another check's."""
    if file not in seen:
        seen[file] = set()
        direct = set(_STANDARD.findall(tree.code(file))) if (tree.root / file).is_file() else set()
        for header in list(direct):
            direct |= _closed(header)
        if (tree.root / file).is_file():
            for _, target in tree.includes(file):
                direct |= _there(tree, target, seen)
        seen[file] = direct
    return seen[file]


def _closed(header: str) -> set[str]:
    return set(ALSO.get(header, ())).union(*(_closed(other) for other in ALSO.get(header, ())))
