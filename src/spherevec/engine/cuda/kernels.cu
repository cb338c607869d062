// The training kernels for a GPU. Compiled for one configuration at a time; backend.py gives these macros:
//   STRIDE      floats from one row of the vectors to the next
//   SLICE, VEC  floats of a row that one warp holds, and that one lane holds (1, 2 or 4)
//   TEAM        warps that share a row; a thread block is one team, and trains one segment at a time
//   BATCH, NEGATIVE          anchors of a batch, negatives
//   OBJECTIVE, RULE, GEODESIC, DOCUMENTS   as in cpu/kernels.py
//   PIECE, LOSS_EVERY, NEGATIVES_AHEAD         as in base.py
//   SEGMENT_BYTES, SHARED_BYTES, TEAM_BYTES   sizes of structures, at most in the last case
//   BLOCKS      teams that a multiprocessor must be able to hold
//   CROWD       how many teams may write a row at the same time
//   ADDED       1: steps are added atomically, so that none is lost; 0: a moved row is stored as a whole
//   INFER       1: only the kernel that fits documents to fixed words; 0: all others
//
// All vectors lie in one array of rows: V words, V contexts, the documents, and one row of zeros. Everything random is
// the hash that cpu/kernels.py uses, so one team that takes whole units in order does what the CPU does.
//
// Several teams read and write rows without locks. A row is read past the first-level cache, which knows nothing of
// what other multiprocessors write. A lane only ever touches its own floats of a row, so a team sees its own steps.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define FULL 0xFFFFFFFFu
#define GOLDEN 0x9E3779B97F4A7C15ull
#define VMF 0
#define HINGE 1
#define JOINT 2

#define TARGETS (NEGATIVE + 1)
// Targets are taken a tile at a time, so that a tile and the anchors fit into registers.
#define TILES ((TARGETS + 7) / 8)
#define TILE ((TARGETS + TILES - 1) / TILES)
#define PADDED_TARGETS ((TILES * TILE + 3) / 4 * 4)
#define CELLS (BATCH * PADDED_TARGETS)

enum { TOKENS, WORDS, PAIRS, LOSS, VIOLATED, COMPARED, WORD_COSINE, WORD_NEGATIVES, DOCUMENT_COSINE, DOCUMENT_NEGATIVES, FIGURES };

// A run of tokens of one unit; the unit's first has part 0.
struct Segment {
    i64 start;  // place in the corpus
    i64 shift;  // place less index into `ids`
    i64 unit;
    int document, length, part, unused;
};

// What a launch shares: the next segment, the biases and the sums that they are learned from.
struct Shared {
    u64 next;
    u64 tokens;
    double cosine[2], negatives[2];  // words, documents
    float bias[2];
};

// --- randomness ------------------------------------------------------------------------------------------------------

__device__ __forceinline__ u64 mix(u64 x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

__device__ u64 visited(u64 position, u64 count, u64 key) {
    int half = 1;
    while ((1ull << (2 * half)) < count) half++;
    u64 mask = (1ull << half) - 1, value = position;
    do {
        u64 left = value >> half, right = value & mask;
        for (int turn = 0; turn < 4; turn++) {
            u64 scrambled = mix(right + key + turn * GOLDEN) & mask, kept = right;
            right = left ^ scrambled;
            left = kept;
        }
        value = (left << half) | right;
    } while (value >= count);
    return value;
}

// `alias` holds (share, other) of each slot.
__device__ __forceinline__ u32 sample_negative(u64 random, const uint2* __restrict__ alias, u32 words) {
    u32 slot = __umulhi((u32)(random >> 32), words);
    uint2 entry = __ldg(alias + slot);
    return (u32)random < entry.x ? slot : entry.y;
}

__device__ __forceinline__ bool is_kept(u32 word, u64 place, u64 key, const u32* __restrict__ keep_probability) {
    return (u32)(mix(key + place * GOLDEN) >> 32) <= __ldg(keep_probability + word);
}

// Whether one of an expected crowd that moves a row at the same time writes its step. Many writers of one row wait for each
// other in the cache, and frequent words have steps to spare.
__device__ __forceinline__ bool writes(float crowd, u64 random, u32 row) {
    u32 hash = ((u32)(random >> 24) ^ row) * 0x9E3779B1u;
    hash = (hash ^ (hash >> 15)) * 0x85EBCA77u;
    return (hash >> 8) * 0x1p-24f * crowd <= CROWD;
}

// --- rows and sums ---------------------------------------------------------------------------------------------------

// What one lane holds of a row.
struct Part {
    float x[VEC];
};

__device__ __forceinline__ Part nothing() {
    Part part;
#pragma unroll
    for (int i = 0; i < VEC; i++) part.x[i] = 0;
    return part;
}

__device__ __forceinline__ Part combined(float a, Part x, float b, Part y) {
#pragma unroll
    for (int i = 0; i < VEC; i++) x.x[i] = a * x.x[i] + b * y.x[i];
    return x;
}

__device__ __forceinline__ void add(Part& sum, float weight, const Part& y) {
#pragma unroll
    for (int i = 0; i < VEC; i++) sum.x[i] += weight * y.x[i];
}

__device__ __forceinline__ Part scaled(float a, Part x) {
#pragma unroll
    for (int i = 0; i < VEC; i++) x.x[i] *= a;
    return x;
}

__device__ __forceinline__ float product(const Part& x, const Part& y) {
    float sum = x.x[0] * y.x[0];
#pragma unroll
    for (int i = 1; i < VEC; i++) sum += x.x[i] * y.x[i];
    return sum;
}

// The vectors, as one lane sees them.
struct Vectors {
    float* base;  // this lane's floats of row 0
    bool holds;   // whether this lane holds any

    __device__ __forceinline__ float* address(u32 row) const {
        return (float*)((char*)base + (u64)row * (STRIDE * sizeof(float)));
    }

    __device__ __forceinline__ Part load(u32 row) const {
        Part part = nothing();
        const float* at = address(row);
        if (holds) {
#if VEC == 4
            float4 q = __ldcg((const float4*)at);
            part.x[0] = q.x, part.x[1] = q.y, part.x[2] = q.z, part.x[3] = q.w;
#elif VEC == 2
            float2 q = __ldcg((const float2*)at);
            part.x[0] = q.x, part.x[1] = q.y;
#else
            part.x[0] = __ldcg(at);
#endif
        }
        return part;
    }

    __device__ __forceinline__ void store(u32 row, const Part& part) const {
        float* at = address(row);
        if (holds) {
#if VEC == 4
            __stcg((float4*)at, make_float4(part.x[0], part.x[1], part.x[2], part.x[3]));
#elif VEC == 2
            __stcg((float2*)at, make_float2(part.x[0], part.x[1]));
#else
            __stcg(at, part.x[0]);
#endif
        }
    }

    // Add to a row; nobody's step is lost.
    __device__ __forceinline__ void add(u32 row, const Part& part) const {
        float* at = address(row);
        if (holds) {
#if VEC == 4 && __CUDA_ARCH__ >= 900
            asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "f"(part.x[0]),
                         "f"(part.x[1]), "f"(part.x[2]), "f"(part.x[3]) : "memory");
#elif VEC == 2 && __CUDA_ARCH__ >= 900
            asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(at), "f"(part.x[0]), "f"(part.x[1])
                         : "memory");
#else
#pragma unroll
            for (int i = 0; i < VEC; i++) atomicAdd(at + i, part.x[i]);
#endif
        }
    }
};

__device__ __forceinline__ Vectors vectors_of(float* rows) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float* base = rows + warp * SLICE + lane * VEC;
    asm("" : "+l"(base));  // one register pair: the compiler would add the offset anew for every row
    return {base, lane * VEC < SLICE};
}

__device__ __forceinline__ void team_barrier() {
    if (TEAM > 1) __syncthreads();
    else __syncwarp();
}

// Halve the values a lane holds: lanes whose bit WIDTH is set keep the later ones, the others the earlier ones.
template <int N, int WIDTH>
__device__ __forceinline__ void fold(float* values, bool upper) {
    constexpr int HALF = (N + 1) / 2;
#pragma unroll
    for (int i = 0; i < HALF; i++) {
        float high = i + HALF < N ? values[i + HALF] : 0.f;
        float sent = upper ? values[i] : high, own = upper ? high : values[i];
        values[i] = own + __shfl_xor_sync(FULL, sent, WIDTH);
    }
}

// Sum N values of every lane over the warp, each with about one exchange instead of five. N is 32 at most, so that a lane
// ends up with one sum in values[0]: the returned number, or none (-1).
template <int N>
__device__ __forceinline__ int warp_sums(float* values) {
    static_assert(N <= 32, "one sum a lane");
    constexpr int A = (N + 1) / 2, B = (A + 1) / 2, C = (B + 1) / 2, D = (C + 1) / 2;
    int lane = threadIdx.x % 32;
    fold<N, 16>(values, lane & 16);
    fold<A, 8>(values, lane & 8);
    fold<B, 4>(values, lane & 4);
    fold<C, 2>(values, lane & 2);
    fold<D, 1>(values, lane & 1);
    int left = N, first = 0;
#pragma unroll
    for (int level = 0; level < 5; level++) {
        int half = level == 0 ? A : level == 1 ? B : level == 2 ? C : level == 3 ? D : 1;
        bool upper = lane & (16 >> level);
        first += upper ? half : 0;
        left = upper ? left - half : min(left, half);
    }
    return left > 0 ? first : -1;
}

// Sum N values over the warp, the first into lanes whose bits above WIDTH are 0; see lane_of for the others.
template <int N, int WIDTH>
__device__ __forceinline__ void fold_all(float* values) {
    if constexpr (N > 1) {
        fold<N, WIDTH>(values, threadIdx.x & WIDTH);
        fold_all<(N + 1) / 2, WIDTH / 2>(values);
    } else {
#pragma unroll
        for (int width = WIDTH; width; width /= 2) values[0] += __shfl_xor_sync(FULL, values[0], width);
    }
}

// Where sum `i` of N ends up.
__device__ constexpr int lane_of(int i, int n) {
    int lane = 0;
    for (int width = 16; n > 1; width /= 2) {
        int half = (n + 1) / 2;
        if (i >= half) {
            lane += width;
            i -= half;
        }
        n = half;
    }
    return lane;
}

// Sum N values over all lanes of the team; every lane gets every sum. `turn` alternates between two buffers, so that
// one barrier is enough.
template <int N>
__device__ __forceinline__ void team_totals(float* values, float* buffer, int& turn) {
    fold_all<N, 16>(values);
    float sums = values[0];
    if constexpr (N > 1) {
#pragma unroll
        for (int i = 0; i < N; i++) values[i] = __shfl_sync(FULL, sums, lane_of(i, N));
    }
    if (TEAM > 1) {
        int warp = threadIdx.x / 32;
        float* half = buffer + turn * (8 * TEAM);
        turn ^= 1;
        if (threadIdx.x % 32 == 0)
#pragma unroll
            for (int i = 0; i < N; i++) half[warp * 8 + i] = values[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int w = 0; w < TEAM; w++) sum += half[w * 8 + i];
            values[i] = sum;
        }
    }
}

__device__ __forceinline__ float push_of(float h) {
    return RULE == 0 ? 1.f + h : RULE == 1 ? h : 2.f * h;
}

__device__ __forceinline__ float softplus(float x) {
    return fmaxf(x, 0.f) + log1pf(__expf(-fabsf(x)));
}

#if !INFER
// --- cutting an epoch's order into segments --------------------------------------------------------------------------

struct Unit {
    i64 number, start, stop;
    int document;
};

__device__ Unit unit_at(i64 position, i64 units, u64 order_key, i64 documents, const i64* offsets, const i64* pieces) {
    Unit unit;
    unit.number = order_key ? visited(position, units, order_key) : position;
    if (unit.number < documents) {
        unit.document = unit.number;
        unit.start = offsets[unit.number];
    } else {
        unit.document = pieces[2 * (unit.number - documents)];
        unit.start = pieces[2 * (unit.number - documents) + 1];
    }
    unit.stop = min(unit.start + PIECE, offsets[unit.document + 1]);
    return unit;
}

// How many segments each of the `count` units from `first` on has.
extern "C" __global__ void count_segments(
    const i64* offsets, const i64* pieces, i64* counts, i64 first, i64 count, i64 units, u64 order_key, i64 documents, int size) {
    i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    Unit unit = unit_at(first + index, units, order_key, documents, offsets, pieces);
    counts[index] = max((unit.stop - unit.start + size - 1) / size, 1ll);
}

// `ends` are the running sums of the counts. `shifts` is null where all ids are on the device.
extern "C" __global__ void fill_segments(
    const i64* offsets, const i64* pieces, const i64* ends, const i64* shifts, Segment* segments,
    i64 first, i64 count, i64 units, u64 order_key, i64 documents, int size) {
    i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    Unit unit = unit_at(first + index, units, order_key, documents, offsets, pieces);
    i64 at = index ? ends[index - 1] : 0;
    for (int part = 0; at + part < ends[index]; part++) {
        i64 start = unit.start + (i64)part * size;
        segments[at + part] = {start, shifts ? shifts[index] : 0, unit.number, unit.document,
                               (int)(min(start + size, unit.stop) - start), part, 0};
    }
}

// The tokens that each of some units can look at: its own, and a piece on each side; (start, stop) each.
extern "C" __global__ void unit_reach(
    const i64* offsets, const i64* pieces, i64* reach, i64 first, i64 count, i64 units, u64 order_key, i64 documents) {
    i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
    Unit unit = unit_at(first + index, units, order_key, documents, offsets, pieces);
    reach[2 * index] = max(offsets[unit.document], unit.start - PIECE);
    reach[2 * index + 1] = min(offsets[unit.document + 1], unit.stop + PIECE);
}

// Bits of a word in a list that say that its row, as a word and as a context, is not written.
#define QUIET_WORD 0x80000000u
#define QUIET_CONTEXT 0x40000000u
#define WORD_BITS 0x3FFFFFFFu

// The surviving words of a segment lie in `kept` from `window` on, up to `window` of its neighbours around them.
struct Kept {
    int low, last, high;  // first neighbour, end of the segment's own words, end of all
};

__device__ Kept read_segment(
    const Segment& segment, const int* __restrict__ ids, const i64* __restrict__ offsets,
    const u32* __restrict__ keep_probability, u64 key, int window, int* kept) {
    int lane = threadIdx.x % 32;
    u32 earlier = (1u << lane) - 1;
    const int* words = ids - segment.shift;
    i64 opening = offsets[segment.document], closing = offsets[segment.document + 1];
    i64 start = segment.start, stop = start + segment.length;

    i64 farthest = max(opening, start - PIECE);
    int before = 0;
    for (i64 left = start; left > farthest && before < window; left -= 32) {
        i64 place = left - 1 - lane;
        u32 word = place >= farthest ? words[place] : 0;
        bool stays = place >= farthest && is_kept(word, place, key, keep_probability);
        u32 found = __ballot_sync(FULL, stays);
        int at = before + __popc(found & earlier);
        if (stays && at < window) kept[window - 1 - at] = word;
        before = min(window, before + __popc(found));
    }
    int count = window;
    for (i64 from = start; from < stop; from += 32) {
        i64 place = from + lane;
        u32 word = place < stop ? words[place] : 0;
        bool stays = place < stop && is_kept(word, place, key, keep_probability);
        u32 found = __ballot_sync(FULL, stays);
        if (stays) kept[count + __popc(found & earlier)] = word;
        count += __popc(found);
    }
    int last = count;
    farthest = min(closing, stop + PIECE);
    for (i64 from = stop; from < farthest && count - last < window; from += 32) {
        i64 place = from + lane;
        u32 word = place < farthest ? words[place] : 0;
        bool stays = place < farthest && is_kept(word, place, key, keep_probability);
        u32 found = __ballot_sync(FULL, stays);
        int at = count + __popc(found & earlier);
        if (stays && at - last < window) kept[at] = word;
        count = min(last + window, count + __popc(found));
    }
    return {window - before, last, count};
}

// --- what every objective's kernel begins and ends with ---------------------------------------------------------------

struct Task {
    Segment segment;
    Kept kept;
    float alpha, word_bias, document_bias;
    float document_crowd;  // of those that train the same document at the same time, as expected
    bool done;
};

// The team's next segment, its words read; all warps take part.
__device__ void next_task(
    Task& task, int* kept, const Segment* segments, const int* ids, const i64* offsets, const u32* keep_probability,
    Shared* shared, i64 count, u64 shuffle_key, u64 sample_key, int window, double alpha_first, double alpha_last,
    float document_crowd) {
    team_barrier();
    if (threadIdx.x < 32) {
        u64 turn = 0;
        if (threadIdx.x == 0) turn = atomicAdd(&shared->next, 1ull);
        turn = __shfl_sync(FULL, turn, 0);
        if (turn < (u64)count) {
            Segment segment = segments[shuffle_key ? visited(turn, count, shuffle_key) : turn];
            Kept found = read_segment(segment, ids, offsets, keep_probability, sample_key, window, kept);
            if (threadIdx.x == 0) {
                task.segment = segment;
                task.kept = found;
                task.alpha = alpha_first + (alpha_last - alpha_first) * ((double)turn / count);
                task.word_bias = *(volatile float*)&shared->bias[0];
                task.document_bias = *(volatile float*)&shared->bias[1];
                task.document_crowd = document_crowd * (offsets[segment.document + 1] - offsets[segment.document]);
                task.done = false;
            }
        } else if (threadIdx.x == 0) {
            task.done = true;
        }
    }
    team_barrier();
}

__device__ __forceinline__ u64 first_random(const Segment& segment, u64 sample_key) {
    u64 random = mix(sample_key ^ ((u64)segment.unit * GOLDEN + 1));
    return segment.part ? mix(random ^ ((u64)segment.part << 32)) : random;
}

// Add a segment's figures to all, and learn the offsets after every `learn_every` tokens (0 = never): towards
// orthogonal negative pairs, as `learn_biases` in rounds.py does.
__device__ void report(double* own, double* figures, Shared* shared, int tokens, u64 learn_every, float damping) {
    if (threadIdx.x >= 32) return;
    __syncwarp();
    if (threadIdx.x < FIGURES) atomicAdd(figures + threadIdx.x, own[threadIdx.x]);
    if (learn_every && threadIdx.x == 0) {
        for (int kind = 0; kind < 2; kind++) {
            atomicAdd(&shared->cosine[kind], own[WORD_COSINE + 2 * kind]);
            atomicAdd(&shared->negatives[kind], own[WORD_NEGATIVES + 2 * kind]);
        }
        u64 before = atomicAdd(&shared->tokens, (u64)tokens);
        if (before / learn_every != (before + tokens) / learn_every) {
            for (int kind = 0; kind < 2; kind++) {
                double cosine = __longlong_as_double(atomicExch((u64*)&shared->cosine[kind], 0ull));
                double negative_word = __longlong_as_double(atomicExch((u64*)&shared->negatives[kind], 0ull));
                atomicAdd(&shared->bias[kind], (float)(-damping * cosine / fmax(negative_word, 1.0)));
            }
        }
    }
    __syncwarp();
    if (threadIdx.x < FIGURES) own[threadIdx.x] = 0;
    __syncwarp();
}

extern __shared__ float4 dynamic[];
static_assert(sizeof(Segment) == SEGMENT_BYTES && sizeof(Shared) == SHARED_BYTES, "as in cuda.py");

#if OBJECTIVE != JOINT && !(OBJECTIVE == HINGE && BATCH == 1)
// --- several anchors at once -----------------------------------------------------------------------------------------

// Anchors of a batch whose products with a tile are summed over lanes together.
#define GROUPS ((BATCH + 32 / TILE - 1) / (32 / TILE))
#define GROUP ((BATCH + GROUPS - 1) / GROUPS)

// One warp's numbers of a batch.
struct Batch {
    float scores[CELLS];  // anchor x target
    float pull[CELLS];    // weight of the target in the anchor's step
#if OBJECTIVE == HINGE
    float push[CELLS];  // weight of the anchor in the target's step
#endif
    float pulled[CELLS];  // pull x score: what the step takes from the anchor itself
#if OBJECTIVE == HINGE
    float pushed[CELLS];
#endif
    float keep[BATCH + PADDED_TARGETS];     // weight of a vector itself in its step
    float gain[BATCH + PADDED_TARGETS];     // ADDED: factor of the whole step
    float squares[BATCH + PADDED_TARGETS];  // of norms; ADDED: of those read, otherwise of those moved, or 1 / sqrt
    float inverse[BATCH + PADDED_TARGETS];  // ADDED: of the norms read
    u32 rows[BATCH + PADDED_TARGETS];

    __device__ __forceinline__ const float* pushes() const {
#if OBJECTIVE == HINGE
        return push;
#else
        return pull;
#endif
    }

    __device__ __forceinline__ float pushed_by(int cell) const {
#if OBJECTIVE == HINGE
        return pushed[cell];
#else
        return pulled[cell];
#endif
    }
};

// What the warps of a team tell each other.
struct Team {
    Batch batch[TEAM];
    float scores[TEAM > 1 ? TEAM : 1][TEAM > 1 ? CELLS : 1];
    float squares[TEAM > 1 ? TEAM : 1][TEAM > 1 ? (BATCH + PADDED_TARGETS) : 1];
    double figures[FIGURES];
    Task task;
};
static_assert(sizeof(Team) <= TEAM_BYTES, "as in cuda.py");

// Put 1 / sqrt of the team's sums of N squares into batch.squares; every lane reads them there. In a geodesic build
// the sums themselves.
template <int N>
__device__ __forceinline__ void sum_squares(Team& team, Batch& batch, float* values, bool inverse) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float* own = TEAM > 1 ? team.squares[warp] : batch.squares;
    int mine = warp_sums<N>(values);
    if (mine >= 0) own[mine] = values[0];
    team_barrier();
    if (lane < N) {
        int i = lane;
        float sum = own[i];
        if (TEAM > 1) {
            sum = 0;
            for (int w = 0; w < TEAM; w++) sum += team.squares[w][i];
        }
        batch.squares[i] = inverse ? rsqrtf(sum) : sum;
    }
    __syncwarp();
}

// Turn x + z, for tangent steps z at rows x, into exp_x(z); their squared norms are in batch.squares. Norms go back to 1.
template <int N>
__device__ __forceinline__ void along_geodesics(
    Team& team, Batch& batch, const Vectors& vectors, const u32* rows, Part* moved) {
    float squares[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
        float angle = sqrtf(fmaxf(batch.squares[i] - 1.f, 0.f));
        if (angle >= 1e-3f) {
            float along = sinf(angle) / angle;
            moved[i] = combined(cosf(angle) - along, vectors.load(rows[i]), along, moved[i]);
        }
        squares[i] = product(moved[i], moved[i]);
    }
    team_barrier();
    sum_squares<N>(team, batch, squares, true);
}

// Weights of every cell from its score, and of every row in its own step.
__device__ __forceinline__ void weigh(
    Batch& batch, const float* crowd, int rows, int document_row, float alpha, float kappa,
    float word_bias, float document_bias, float margin, float bound, u64 random) {
    int lane = threadIdx.x % 32;
#if ADDED
    // Rows have any length; cosines are theirs.
#pragma unroll
    for (int i = lane; i < BATCH + TILES * TILE; i += 32) batch.inverse[i] = rsqrtf(fmaxf(batch.squares[i], 1e-12f));
    __syncwarp();
#endif
#if OBJECTIVE == VMF
#pragma unroll
    for (int cell = lane; cell < CELLS; cell += 32) {
        int a = cell / PADDED_TARGETS, t = cell % PADDED_TARGETS;
        bool real = t == 0, counts = real || (t < TARGETS && batch.rows[BATCH + t] != batch.rows[BATCH]);
        float bias = a == document_row ? document_bias : word_bias;
        float lengths = ADDED ? batch.inverse[a] * batch.inverse[BATCH + t] : 1.f;
        float score = batch.scores[cell] * lengths;
        float likely = __fdividef(1.f, 1.f + __expf(bias - kappa * score));
        float weight = counts ? alpha * kappa * ((real ? 1.f : 0.f) - likely) : 0.f;
        batch.scores[cell] = score;
        batch.pull[cell] = weight * lengths;
        batch.pulled[cell] = weight * score;
    }
#else
    if (lane < BATCH) {
        float step = alpha * (2.f / NEGATIVE), pull = 0, push = 0;
        int first = lane * PADDED_TARGETS;
        float own = ADDED ? batch.inverse[lane] : 1.f, length = own * (ADDED ? batch.inverse[BATCH] : 1.f);
        float f = batch.scores[first] * length;
        for (int t = 1; t < PADDED_TARGETS; t++) {
            float lengths = ADDED && t < TILES * TILE ? own * batch.inverse[BATCH + t] : 1.f;
            float h = batch.scores[first + t] * lengths;
            bool moves = t < TARGETS && lane < rows && batch.rows[BATCH + t] != batch.rows[BATCH] && f - h < margin;
            float near = moves ? step * (1.f - f + h) : 0.f, away = moves ? step * push_of(h) : 0.f;
            batch.scores[first + t] = h;
            batch.pull[first + t] = -near * lengths;
            batch.push[first + t] = -away * lengths;
            batch.pulled[first + t] = -near * h;
            batch.pushed[first + t] = -away * h;
            pull += near;
            push += moves ? step * (1.f - f) : 0.f;
        }
        batch.scores[first] = f;
        batch.pull[first] = pull * length;
        batch.push[first] = push * length;
        batch.pulled[first] = pull * f;
        batch.pushed[first] = push * f;
    }
#endif
    __syncwarp();
    int each = 0;
#pragma unroll
    for (int i = lane; i < BATCH + TILES * TILE; i += 32, each++) {
        // What a tangent step takes from the vector itself.
        float taken = 0.f;
        if (i < BATCH) {
#pragma unroll
            for (int t = 0; t < TARGETS; t++) taken += batch.pulled[i * PADDED_TARGETS + t];
        } else {
#pragma unroll
            for (int a = 0; a < BATCH; a++) taken += batch.pushed_by(a * PADDED_TARGETS + i - BATCH);
        }
#if ADDED
        // Those that write a row at the same time take such a share of their steps that all together do not go too far.
        // The length of a row, which only its next reader divides by, goes back to 1; a step is in proportion to
        // it, but for a length that is far off.
        bool moves = i < BATCH ? i < rows : i - BATCH < TARGETS && (i == BATCH || batch.rows[i] != batch.rows[BATCH]);
        moves = moves && writes(crowd[each], random, batch.rows[i]);
        float writers = fmaxf(fminf(crowd[each], CROWD), 1.f), share = fminf(1.f, __fdividef(bound, writers));
        float inverse = batch.inverse[i], length = batch.squares[i] * inverse;
        float back = __fdividef(0.1f, writers) * fminf(1.f - length, 0.5f);
        float scale = share * fminf(fmaxf(length + back, 0.5f), 1.5f), gain = scale * length;
        batch.gain[i] = moves ? gain : 0.f;
        batch.keep[i] = (back - scale * taken) * __fdividef(inverse, gain);
#else
        batch.keep[i] = 1.f - taken;
#endif
    }
    __syncwarp();
}

// Add a batch's loss, how many negatives come too close, and their cosines to the figures; one warp's task.
__device__ void measure(
    const Batch& batch, double* figures, int rows, int document_row, float kappa,
    float word_bias, float document_bias, float margin) {
    float loss = 0, violated = 0, cosine[2] = {0, 0}, count[2] = {0, 0};
    for (int cell = threadIdx.x % 32; cell < rows * PADDED_TARGETS; cell += 32) {
        int a = cell / PADDED_TARGETS, t = cell % PADDED_TARGETS, kind = a == document_row;
        if (t >= TARGETS || (t > 0 && batch.rows[BATCH + t] == batch.rows[BATCH])) continue;
        float f = batch.scores[a * PADDED_TARGETS], h = batch.scores[cell];
        float score = kappa * h - (kind ? document_bias : word_bias);
        if (OBJECTIVE == VMF) loss += softplus(t ? score : -score);
        else if (t) loss += fmaxf(0.f, margin - f + h);
        if (t) {
            violated += f - h < margin;
            cosine[kind] += h;
            count[kind] += 1;
        }
    }
    float sums[6] = {loss, violated, cosine[0], count[0], cosine[1], count[1]};
    for (int i = 0; i < 6; i++)
        for (int width = 16; width; width /= 2) sums[i] += __shfl_xor_sync(FULL, sums[i], width);
    if (threadIdx.x == 0) {
        figures[LOSS] += sums[0];
        figures[VIOLATED] += sums[1];
        figures[COMPARED] += sums[3] + sums[5];
        for (int i = 0; i < 4; i++) figures[WORD_COSINE + i] += sums[2 + i];
    }
}

// Score, weigh and move the rows named in batch.rows.
__device__ __forceinline__ void train_batch(
    Team& team, Batch& batch, const Vectors& vectors, const float* crowd, int rows, int document_row,
    float alpha, float kappa, float word_bias, float document_bias,
    float margin, float bound, u64 random, bool measured) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Part anchors[BATCH], tile[TILE];
#pragma unroll
    for (int a = 0; a < BATCH; a++) anchors[a] = vectors.load(batch.rows[a]);
#pragma unroll
    for (int i = 0; i < TILES; i++) {
#pragma unroll
        for (int t = 0; t < TILE; t++) tile[t] = vectors.load(batch.rows[BATCH + i * TILE + t]);
#pragma unroll
        for (int from = 0; from < BATCH; from += GROUP) {
            constexpr int N = GROUP * TILE;
            float values[N], *sums = (TEAM > 1 ? team.scores[warp] : batch.scores);
#pragma unroll
            for (int a = 0; a < GROUP; a++)
#pragma unroll
                for (int t = 0; t < TILE; t++)
                    values[a * TILE + t] = from + a < BATCH ? product(anchors[from + a], tile[t]) : 0.f;
            int first = warp_sums<N>(values);  // of cell (from + first / TILE, i * TILE + first % TILE)
            int a = from + first / TILE;
            if (first >= 0 && a < BATCH) sums[a * PADDED_TARGETS + i * TILE + first % TILE] = values[0];
        }
#if ADDED
        float squares[BATCH + TILE], *sums = TEAM > 1 ? team.squares[warp] : batch.squares;
#pragma unroll
        for (int a = 0; a < BATCH; a++) squares[a] = product(anchors[a], anchors[a]);
#pragma unroll
        for (int t = 0; t < TILE; t++) squares[BATCH + t] = product(tile[t], tile[t]);
        if (i == 0) {
            int first = warp_sums<BATCH + TILE>(squares);
            if (first >= 0) sums[first] = squares[0];
        } else {
            int first = warp_sums<TILE>(squares + BATCH);
            if (first >= 0) sums[BATCH + i * TILE + first] = squares[BATCH];
        }
#endif
    }
    team_barrier();
    if (TEAM > 1) {
        for (int cell = lane; cell < CELLS; cell += 32) {
            float sum = 0;
            for (int w = 0; w < TEAM; w++) sum += team.scores[w][cell];
            batch.scores[cell] = sum;
        }
#if ADDED
        for (int i = lane; i < BATCH + TILES * TILE; i += 32) {
            float sum = 0;
            for (int w = 0; w < TEAM; w++) sum += team.squares[w][i];
            batch.squares[i] = sum;
        }
        team_barrier();  // before the next batch writes there
#endif
        __syncwarp();
    }
    weigh(batch, crowd, rows, document_row, alpha, kappa, word_bias, document_bias, margin, bound,
          random);
    if (measured && threadIdx.x < 32)
        measure(batch, team.figures, rows, document_row, kappa, word_bias, document_bias, margin);

    Part moved[BATCH + TILE];  // anchors, then a tile
    if constexpr (TILES == 1) {
        Part* moved_tile = moved + BATCH;
#pragma unroll
        for (int t = 0; t < TILE; t++) moved_tile[t] = scaled(batch.keep[BATCH + t], tile[t]);
#pragma unroll
        for (int a = 0; a < BATCH; a++) {
            moved[a] = scaled(batch.keep[a], anchors[a]);
#pragma unroll
            for (int t = 0; t < TILE; t++) {
                float pull = batch.pull[a * PADDED_TARGETS + t];
                float push = batch.pushes()[a * PADDED_TARGETS + t];
                add(moved[a], pull, tile[t]);
                add(moved_tile[t], push, anchors[a]);
            }
        }
#if ADDED
#pragma unroll
        for (int a = 0; a < BATCH; a++)
            if (batch.gain[a] != 0) vectors.add(batch.rows[a], scaled(batch.gain[a], moved[a]));
#pragma unroll
        for (int t = 0; t < TILE; t++)
            if (batch.gain[BATCH + t] != 0)
                vectors.add(batch.rows[BATCH + t], scaled(batch.gain[BATCH + t], moved_tile[t]));
#else
        float squares[BATCH + TILE];
#pragma unroll
        for (int i = 0; i < BATCH + TILE; i++) squares[i] = product(moved[i], moved[i]);
        sum_squares<BATCH + TILE>(team, batch, squares, !GEODESIC);
        if (GEODESIC) along_geodesics<BATCH + TILE>(team, batch, vectors, batch.rows, moved);
#pragma unroll
        for (int a = 0; a < BATCH; a++)
            if (a < rows) vectors.store(batch.rows[a], scaled(batch.squares[a], moved[a]));
#pragma unroll
        for (int t = 0; t < TILE; t++)
            if (t == 0 || batch.rows[BATCH + t] != batch.rows[BATCH])
                vectors.store(batch.rows[BATCH + t], scaled(batch.squares[BATCH + t], moved_tile[t]));
#endif
    } else {
        Part* moved_tile = moved + BATCH;
#pragma unroll
        for (int a = 0; a < BATCH; a++) moved[a] = scaled(batch.keep[a], anchors[a]);
        for (int i = 0; i < TILES; i++) {
#pragma unroll
            for (int t = 0; t < TILE; t++) {
                tile[t] = vectors.load(batch.rows[BATCH + i * TILE + t]);
                moved_tile[t] = scaled(batch.keep[BATCH + i * TILE + t], tile[t]);
            }
#pragma unroll
            for (int a = 0; a < BATCH; a++)
#pragma unroll
                for (int t = 0; t < TILE; t++) {
                    add(moved[a], batch.pull[a * PADDED_TARGETS + i * TILE + t], tile[t]);
                    add(moved_tile[t], batch.pushes()[a * PADDED_TARGETS + i * TILE + t], anchors[a]);
                }
#if ADDED
#pragma unroll
            for (int t = 0; t < TILE; t++) {
                float gain = batch.gain[BATCH + i * TILE + t];
                if (gain != 0) vectors.add(batch.rows[BATCH + i * TILE + t], scaled(gain, moved_tile[t]));
            }
#else
            float squares[TILE];
#pragma unroll
            for (int t = 0; t < TILE; t++) squares[t] = product(moved_tile[t], moved_tile[t]);
            team_barrier();
            sum_squares<TILE>(team, batch, squares, !GEODESIC);
            if (GEODESIC) along_geodesics<TILE>(team, batch, vectors, batch.rows + BATCH + i * TILE, moved_tile);
#pragma unroll
            for (int t = 0; t < TILE; t++) {
                int target = i * TILE + t;
                // A word that is sampled again keeps the later of its steps; until then it stays as it was.
                bool stored = target < TARGETS && (target == 0 || batch.rows[BATCH + target] != batch.rows[BATCH]);
                for (int later = target + 1; later < TARGETS; later++)
                    if (target > 0 && batch.rows[BATCH + later] == batch.rows[BATCH + target]) stored = false;
                if (stored) vectors.store(batch.rows[BATCH + target], scaled(batch.squares[t], moved_tile[t]));
            }
#endif
        }
#if ADDED
#pragma unroll
        for (int a = 0; a < BATCH; a++)
            if (batch.gain[a] != 0) vectors.add(batch.rows[a], scaled(batch.gain[a], moved[a]));
#else
        float squares[BATCH];
#pragma unroll
        for (int a = 0; a < BATCH; a++) squares[a] = product(moved[a], moved[a]);
        team_barrier();
        sum_squares<BATCH>(team, batch, squares, !GEODESIC);
        if (GEODESIC) along_geodesics<BATCH>(team, batch, vectors, batch.rows, moved);
#pragma unroll
        for (int a = 0; a < BATCH; a++)
            if (a < rows) vectors.store(batch.rows[a], scaled(batch.squares[a], moved[a]));
#endif
    }
}

extern "C" __global__ void __launch_bounds__(32 * TEAM, BLOCKS) train(
    const int* __restrict__ ids, const i64* __restrict__ offsets, const Segment* __restrict__ segments,
    const u32* __restrict__ keep_probability, const uint2* __restrict__ alias, float* rows_of_vectors, double* figures,
    Shared* shared, i64 count, u64 shuffle_key, u64 sample_key, u32 words, u32 zero_row, int window,
    double alpha_first, double alpha_last, float kappa, float margin, u64 learn_every,
    float damping, const float* __restrict__ crowds, float document_crowd, float bound) {
    Team& team = *(Team*)dynamic;
    int* kept = (int*)(&team + 1);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    Batch& batch = team.batch[warp];
    Vectors vectors = vectors_of(rows_of_vectors);
    for (int i = lane; i < CELLS; i += 32) batch.scores[i] = 0;
    for (int i = lane; i < PADDED_TARGETS; i += 32) batch.rows[BATCH + i] = zero_row;
    if (TEAM > 1)
        for (int i = lane; i < CELLS; i += 32) team.scores[warp][i] = 0;
    if (threadIdx.x < FIGURES) team.figures[threadIdx.x] = 0;

    while (true) {
        next_task(team.task, kept, segments, ids, offsets, keep_probability, shared, count, shuffle_key, sample_key, window,
                  alpha_first, alpha_last, document_crowd);
        if (team.task.done) return;
        const int low_end = team.task.kept.low, last = team.task.kept.last, high_end = team.task.kept.high;
        const u32 document_row = 2 * words + team.task.segment.document;
        const float alpha = team.task.alpha;
        const float word_bias = team.task.word_bias, document_bias = team.task.document_bias;
        u64 random = first_random(team.task.segment, sample_key);
        constexpr int EACH = (NEGATIVE + 31) / 32;  // negatives that a lane samples
        u32 next_negatives[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            next_negatives[k] = sample_negative(mix(random + (k * 32 + lane + 1) * GOLDEN), alias, words);
        random += NEGATIVE * GOLDEN;

        u32 pairs = 0;
        for (int center = window; center < last; center++) {
            random += GOLDEN;
            u64 reach = mix(random);
            int before = 1 + (u32)(reach >> 32) % (u32)window;
            int smallest = 1 + (BATCH - (before + DOCUMENTS + 1) % BATCH) % BATCH, step = BATCH;
            if (smallest > window) smallest = step = 1;
            int after = smallest + step * (int)((u32)reach % (u32)((window - smallest) / step + 1));
            int low = max(low_end, center - before), high = min(high_end, center + after + 1);
            int neighbours = high - low - 1, total = neighbours + DOCUMENTS;
            pairs += total;
            bool measured = (center - window) % LOSS_EVERY == 0;
            for (int start = 0; start < total; start += BATCH) {
                __syncwarp();
                if (lane < BATCH) {
                    int place = low + start + lane, at = start + lane;
                    place += place >= center;
                    batch.rows[lane] = at < neighbours ? words + kept[place] : at < total ? document_row : zero_row;
                }
                if (lane == 0) batch.rows[BATCH] = kept[center];
#pragma unroll
                for (int k = 0; k < EACH; k++)
                    if (k * 32 + lane < NEGATIVE) {
                        batch.rows[BATCH + 1 + k * 32 + lane] = next_negatives[k];
                        next_negatives[k] = sample_negative(mix(random + (k * 32 + lane + 1) * GOLDEN), alias, words);
                    }
                random += NEGATIVE * GOLDEN;
                __syncwarp();
                float crowd[(BATCH + TILES * TILE + 31) / 32];
#if ADDED
#pragma unroll
                for (int i = 0; i < (BATCH + TILES * TILE + 31) / 32; i++) {
                    u32 row = i * 32 + lane < BATCH + TARGETS ? batch.rows[i * 32 + lane] : zero_row;
                    crowd[i] = row < 2 * words ? __ldg(crowds + row) : team.task.document_crowd;
                }
#endif
                int rows = min(BATCH, total - start);
                int last_row = DOCUMENTS && start + BATCH >= total ? neighbours - start : -1;
                train_batch(team, batch, vectors, crowd, rows, last_row, alpha, kappa,
                            word_bias, document_bias, margin, bound / alpha, random, measured);
            }
        }
        if (threadIdx.x == 0) {
            team.figures[TOKENS] += team.task.segment.length;
            team.figures[WORDS] += last - window;
            team.figures[PAIRS] += pairs;
        }
        report(team.figures, figures, shared, team.task.segment.length, learn_every, damping);
    }
}
#endif

#if OBJECTIVE == HINGE && BATCH == 1
// --- one triple at a time, in closed form ----------------------------------------------------------------------------

#define QUEUE 64  // negatives: those ahead, and 32 more
constexpr int UNROLLED = NEGATIVE <= 4 ? NEGATIVE : 1;

struct Team {
    float totals[2 * 8 * TEAM];
    u32 queue[TEAM][QUEUE];
    double figures[FIGURES];
    Task task;
};
static_assert(sizeof(Team) <= TEAM_BYTES, "as in cuda.py");

__device__ __forceinline__ u32 draw_written(u64 random, const uint2* alias, u32 words, const float* crowds) {
    u32 negative_word = sample_negative(mix(random), alias, words);
    return writes(__ldg(crowds + negative_word), random, negative_word) ? negative_word : negative_word | QUIET_WORD;
}

// Weights that take x to (stay x + move y) on the sphere, from own = x·x, cross = x·y, other = y·y.
__device__ __forceinline__ void step_weights(float& stay, float& move, float own, float cross, float other) {
    if (GEODESIC) {
        float rest = stay - 1.f;
        float angle = sqrtf(fmaxf(rest * rest * own + 2.f * rest * move * cross + move * move * other, 0.f));
        if (angle > 1e-3f) {
            float along = sinf(angle) / angle;
            stay = cosf(angle) + along * rest;
            move = along * move;
        }
    }
    float square = stay * (stay * own + 2.f * move * cross) + move * move * other, scale;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(scale) : "f"(square));
    stay *= scale;
    move *= scale;
}

extern "C" __global__ void __launch_bounds__(32 * TEAM, BLOCKS) train(
    const int* __restrict__ ids, const i64* __restrict__ offsets, const Segment* __restrict__ segments,
    const u32* __restrict__ keep_probability, const uint2* __restrict__ alias, float* rows_of_vectors, double* figures,
    Shared* shared, i64 count, u64 shuffle_key, u64 sample_key, u32 words, u32 zero_row, int window,
    double alpha_first, double alpha_last, float kappa, float margin, u64 learn_every,
    float damping, const float* __restrict__ crowds, float document_crowd, float bound) {
    Team& team = *(Team*)dynamic;
    int* kept = (int*)(&team + 1);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, turn = 0;
    u32* queue = team.queue[warp];
    Vectors vectors = vectors_of(rows_of_vectors);
    if (threadIdx.x < FIGURES) team.figures[threadIdx.x] = 0;

    while (true) {
        next_task(team.task, kept, segments, ids, offsets, keep_probability, shared, count, shuffle_key, sample_key, window,
                  alpha_first, alpha_last, document_crowd);
        if (team.task.done) return;
        const int low_end = team.task.kept.low, last = team.task.kept.last, high_end = team.task.kept.high;
        const u32 document_row = 2 * words + team.task.segment.document;
        const float alpha = team.task.alpha;
        u64 random = first_random(team.task.segment, sample_key);
        if (lane < NEGATIVES_AHEAD) queue[lane] = draw_written(random + (lane + 1) * GOLDEN, alias, words, crowds);
        random += NEGATIVES_AHEAD * GOLDEN;
        __syncwarp();
        // The rows of the next negative and the next target are read while this triple is computed.
        Part next_other = vectors.load(queue[0] & WORD_BITS), next_real = nothing();
        u32 head = 0, all_pairs = 0, compared = 0, violated = 0;
        float loss = 0;
        for (int at = low_end + threadIdx.x; at < high_end; at += 32 * TEAM) {
            u32 word = kept[at];
            if (!writes(__ldg(crowds + word), random, at)) kept[at] |= QUIET_WORD;
            if (!writes(__ldg(crowds + words + word), random + (1ull << 40), at)) kept[at] |= QUIET_CONTEXT;
        }
        team_barrier();
        for (int center = window; center < last; center++) {
            u32 word = kept[center] & WORD_BITS;
            bool quiet_anchor = kept[center] & QUIET_CONTEXT;
            random += GOLDEN;
            int reach = 1 + (u32)(mix(random) >> 32) % (u32)window;
            int low = max(low_end, center - reach), high = min(high_end, center + reach + 1);
            int neighbours = high - low - 1, pairs = neighbours + DOCUMENTS, triples = pairs * NEGATIVE;
            all_pairs += pairs;
            Part anchor = vectors.load(words + word);
            u32 anchor_row = words + word;
            bool anchor_moved = false;
            int triple = 0;
            u32 next_target = kept[neighbours ? low + (low >= center) : center];
            next_real = vectors.load(next_target & WORD_BITS);
            for (int pair = 0; pair < pairs; pair++) {
                if (pair == neighbours) {
                    if (anchor_moved && !quiet_anchor) vectors.store(anchor_row, anchor);
                    anchor_moved = false;
                    quiet_anchor = !writes(team.task.document_crowd, random, center);
                    anchor_row = document_row;
                    anchor = vectors.load(anchor_row);
                }
                u32 target = next_target & WORD_BITS;
                bool quiet = next_target & QUIET_WORD;
                Part real = next_real;
                int place = low + pair + 1;
                next_target = kept[pair + 1 < neighbours ? place + (place >= center) : center];
                next_real = vectors.load(next_target & WORD_BITS);
                bool outdated = (next_target & WORD_BITS) == target;
                float f = 0, uu = 1, vv = 1;  // products with each other and with itself
                bool moved = false, known = false;
#pragma unroll(UNROLLED)
                for (int k = 0; k < NEGATIVE; k++, triple++) {
                    if (triple % 32 == 0) {
                        __syncwarp();
                        if (triple + lane < triples)
                            queue[(head + NEGATIVES_AHEAD + lane) % QUEUE] =
                                draw_written(random + (triple + lane + 1) * GOLDEN, alias, words, crowds);
                        __syncwarp();
                    }
                    u32 negative_word = queue[head % QUEUE] & WORD_BITS;
                    bool quiet_negatives = queue[head % QUEUE] & QUIET_WORD;
                    head++;
                    Part other = next_other;
                    u32 next_negatives = queue[head % QUEUE] & WORD_BITS;
                    next_other = vectors.load(next_negatives);
                    if (negative_word == word || negative_word == target) continue;
                    float h;
                    if (known) {
                        float values[1] = {product(other, anchor)};
                        team_totals<1>(values, team.totals, turn);
                        h = values[0];
                    } else {
                        float values[4] = {product(other, anchor), product(real, anchor), product(real, real),
                                           product(anchor, anchor)};
                        team_totals<4>(values, team.totals, turn);
                        h = values[0], f = values[1], uu = values[2], vv = values[3];
                        known = true;
                    }
                    compared++;
                    if (f - h >= margin) continue;
                    violated++;
                    loss += margin - f + h;
                    float gram[2] = {product(other, other), product(real, other)};
                    team_totals<2>(gram, team.totals, turn);
                    float nn = gram[0], g = gram[1];
                    float near = alpha * (1.f - f), far = alpha * push_of(h), both = alpha * (1.f - f + h);
                    float a = 1.f - near * f, b = near, c = 1.f + far * h, d = -far, e = 1.f - both * (f - h), s = both;
                    step_weights(a, b, uu, f, vv);
                    step_weights(c, d, nn, h, vv);
                    step_weights(e, s, vv, f - h, uu + nn - 2.f * g);
                    Part new_anchor = scaled(e, anchor);
                    add(new_anchor, s, real);
                    add(new_anchor, -s, other);
                    // u'·v' of the new vectors
                    f = a * e * f + a * s * (uu - g) + b * e * vv + b * s * (f - h);
                    uu = vv = 1;
                    if (!quiet_negatives) {
                        other = combined(c, other, d, anchor);
                        vectors.store(negative_word, other);
                        if (next_negatives == negative_word) next_other = other;
                        outdated |= (next_target & WORD_BITS) == negative_word;
                    }
                    real = combined(a, real, b, anchor);
                    anchor = new_anchor;
                    moved = anchor_moved = true;
                }
                if (moved && !quiet) {
                    vectors.store(target, real);
                    if ((queue[head % QUEUE] & WORD_BITS) == target) next_other = real;
                }
                if (outdated) next_real = vectors.load(next_target & WORD_BITS);
            }
            if (anchor_moved && !quiet_anchor) vectors.store(anchor_row, anchor);
            random += (u64)triples * GOLDEN;
        }
        if (threadIdx.x == 0) {
            team.figures[TOKENS] += team.task.segment.length;
            team.figures[WORDS] += last - window;
            team.figures[PAIRS] += all_pairs;
            team.figures[LOSS] += loss;
            team.figures[VIOLATED] += violated;
            team.figures[COMPARED] += compared;
        }
        report(team.figures, figures, shared, team.task.segment.length, 0, damping);
    }
}
#endif

#if OBJECTIVE == JOINT
// --- the paper's joint hinge -----------------------------------------------------------------------------------------

struct Team {
    float totals[2 * 8 * TEAM];
    double figures[FIGURES];
    Task task;
};
static_assert(sizeof(Team) <= TEAM_BYTES, "as in cuda.py");

extern "C" __global__ void __launch_bounds__(32 * TEAM, BLOCKS) train(
    const int* __restrict__ ids, const i64* __restrict__ offsets, const Segment* __restrict__ segments,
    const u32* __restrict__ keep_probability, const uint2* __restrict__ alias, float* rows_of_vectors, double* figures,
    Shared* shared, i64 count, u64 shuffle_key, u64 sample_key, u32 words, u32 zero_row, int window,
    double alpha_first, double alpha_last, float kappa, float margin, u64 learn_every,
    float damping, const float* __restrict__ crowds, float document_crowd, float bound) {
    Team& team = *(Team*)dynamic;
    int* kept = (int*)(&team + 1);
    int turn = 0;
    Vectors vectors = vectors_of(rows_of_vectors);
    if (threadIdx.x < FIGURES) team.figures[threadIdx.x] = 0;

    while (true) {
        next_task(team.task, kept, segments, ids, offsets, keep_probability, shared, count, shuffle_key, sample_key, window,
                  alpha_first, alpha_last, document_crowd);
        if (team.task.done) return;
        const int low_end = team.task.kept.low, last = team.task.kept.last, high_end = team.task.kept.high;
        const u32 document_row = 2 * words + team.task.segment.document;
        const float alpha = team.task.alpha;
        u64 random = first_random(team.task.segment, sample_key);
        u32 pairs = 0, compared = 0, violated = 0;
        float loss = 0;
        for (int center = window; center < last; center++) {
            u32 word = kept[center];
            random += GOLDEN;
            int reach = 1 + (u32)(mix(random) >> 32) % (u32)window;
            int low = max(low_end, center - reach), high = min(high_end, center + reach + 1);
            pairs += high - low - 1;
            Part u = vectors.load(word), d = vectors.load(document_row);
            for (int place = low; place < high; place++) {
                if (place == center) continue;
                u32 context_row = words + kept[place];
                Part v = vectors.load(context_row);
                for (int k = 0; k < NEGATIVE; k++) {
                    random += GOLDEN;
                    u32 negative_word = sample_negative(mix(random), alias, words);
                    if (negative_word == word) continue;
                    Part n = vectors.load(negative_word);
                    float gram[6] = {product(u, v), product(u, d), product(u, n),
                                     product(n, v), product(n, d), product(v, d)};
                    team_totals<6>(gram, team.totals, turn);
                    float uv = gram[0], ud = gram[1], un = gram[2], nv = gram[3], nd = gram[4], vd = gram[5];
                    float near = uv + ud, far = nv + nd;
                    compared++;
                    if (near - far >= margin) continue;
                    violated++;
                    loss += margin - near + far;
                    float sum_length = sqrtf(fmaxf(2.f + 2.f * vd, 1e-12f));
                    float gap_length = sqrtf(fmaxf(2.f - 2.f * un, 1e-12f));
                    float word_step = alpha * (1.f - near / sum_length), negative_step = alpha * push_of(far / sum_length);
                    float context_step = alpha * (1.f - (uv - nv) / gap_length);
                    float document_step = alpha * (1.f - (ud - nd) / gap_length);
                    Part old[4] = {u, n, v, d}, now[4];
                    now[0] = scaled(1.f - word_step * near, u);
                    add(now[0], word_step, v), add(now[0], word_step, d);
                    now[1] = scaled(1.f + negative_step * far, n);
                    add(now[1], -negative_step, v), add(now[1], -negative_step, d);
                    now[2] = scaled(1.f - context_step * (uv - nv), v);
                    add(now[2], context_step, u), add(now[2], -context_step, n);
                    now[3] = scaled(1.f - document_step * (ud - nd), d);
                    add(now[3], document_step, u), add(now[3], -document_step, n);
                    float squares[4];
#pragma unroll
                    for (int i = 0; i < 4; i++) squares[i] = product(now[i], now[i]);
                    team_totals<4>(squares, team.totals, turn);
                    if (GEODESIC) {
#pragma unroll
                        for (int i = 0; i < 4; i++) {
                            float angle = sqrtf(fmaxf(squares[i] - 1.f, 0.f));
                            if (angle >= 1e-3f) {
                                float along = sinf(angle) / angle;
                                now[i] = combined(cosf(angle) - along, old[i], along, now[i]);
                            }
                            squares[i] = product(now[i], now[i]);
                        }
                        team_totals<4>(squares, team.totals, turn);
                    }
                    u = scaled(rsqrtf(squares[0]), now[0]);
                    vectors.store(negative_word, scaled(rsqrtf(squares[1]), now[1]));
                    v = scaled(rsqrtf(squares[2]), now[2]);
                    d = scaled(rsqrtf(squares[3]), now[3]);
                }
                vectors.store(context_row, v);
            }
            vectors.store(word, u);
            vectors.store(document_row, d);
        }
        if (threadIdx.x == 0) {
            team.figures[TOKENS] += team.task.segment.length;
            team.figures[WORDS] += last - window;
            team.figures[PAIRS] += pairs;
            team.figures[LOSS] += loss;
            team.figures[VIOLATED] += violated;
            team.figures[COMPARED] += compared;
        }
        report(team.figures, figures, shared, team.task.segment.length, 0, damping);
    }
}
#endif

// Bring rows back to length 1: one warp a row, all lanes of it, whatever the team.
// Random directions: pairs of independent normal numbers (Box and Muller), which `normalise` brings to length 1.
extern "C" __global__ void fill_random(float* vectors, i64 rows, int width, u64 key) {
    i64 pair = (i64)blockIdx.x * blockDim.x + threadIdx.x, pairs = (width + 1) / 2;
    if (pair >= rows * pairs) return;
    u64 random = mix(mix(key) + pair * GOLDEN);
    float radius = sqrtf(-2.f * logf(((u32)(random >> 40) + 1) * 0x1p-24f)), sine, cosine;
    sincospif((u32)random * 0x1p-31f, &sine, &cosine);
    float* at = vectors + pair / pairs * STRIDE + 2 * (pair % pairs);
    at[0] = radius * cosine;
    if (2 * (pair % pairs) + 1 < width) at[1] = radius * sine;
}

extern "C" __global__ void normalise(float* vectors, i64 rows) {
    i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    float* at = vectors + row * STRIDE;
    float square = 0;
    for (int i = threadIdx.x % 32; i < STRIDE; i += 32) square += at[i] * at[i];
    for (int width = 16; width; width /= 2) square += __shfl_xor_sync(FULL, square, width);
    float scale = square > 0 ? rsqrtf(square) : 0.f;
    for (int i = threadIdx.x % 32; i < STRIDE; i += 32) at[i] *= scale;
}

#endif

#if INFER
// --- documents, words fixed ------------------------------------------------------------------------------------------

struct InferTeam {
    float totals[2 * 8 * TEAM];
    int document;
};

__device__ __forceinline__ u64 text_key(const int* __restrict__ ids, i64 length) {
    u64 key = length;
    for (i64 from = 0; from < length; from += 32) {
        int word = from + threadIdx.x % 32 < length ? ids[from + threadIdx.x % 32] : 0;
        int count = min(32ll, length - from);
        for (int i = 0; i < count; i++) key = mix(key ^ ((u64)__shfl_sync(FULL, word, i) + GOLDEN));
    }
    return key;
}

// Fit documents to the words, which stay fixed: document d has the words ids[offsets[d] - shift : offsets[d + 1] - shift]
// and the row first_row + d. `order` is the order in which they are taken, the longest first.
extern "C" __global__ void __launch_bounds__(32 * TEAM) infer(
    const int* __restrict__ ids, const i64* __restrict__ offsets, const i64* __restrict__ order,
    const u32* __restrict__ keep_probability, const uint2* __restrict__ alias, float* word_rows, float* document_rows,
    u64* next, i64 count, i64 shift, u32 words, i64 epochs, i64 least_steps, double alpha_start, float kappa,
    float bias, float margin) {
    __shared__ InferTeam team;
    int lane = threadIdx.x % 32, turn = 0;
    Vectors vectors = vectors_of(word_rows), fitted = vectors_of(document_rows);
    constexpr int EACH = (NEGATIVE + 31) / 32;
    while (true) {
        if (TEAM > 1) __syncthreads();
        if (threadIdx.x == 0) {
            u64 taken = atomicAdd(next, 1ull);
            team.document = taken < (u64)count ? (int)order[taken] : -1;
        }
        team_barrier();
        int document = team.document;
        team_barrier();
        if (document < 0) return;
        i64 start = offsets[document] - shift, length = offsets[document + 1] - offsets[document];
        if (length == 0) continue;
        const int* text = ids + start;

        Part own = nothing();
        for (i64 from = 0; from < length; from += 32) {
            int word = from + lane < length ? text[from + lane] : 0;
            float share = from + lane < length ? (float)keep_probability[word] * 0x1p-32f : 0.f;
            int here = min(32ll, length - from);
#pragma unroll 4
            for (int i = 0; i < here; i++)
                add(own, __shfl_sync(FULL, share, i), vectors.load(__shfl_sync(FULL, word, i)));
        }
        float square[1] = {product(own, own)};
        team_totals<1>(square, team.totals, turn);
        own = square[0] > 1e-12f ? scaled(rsqrtf(square[0]), own) : fitted.load(document);

        u64 key = text_key(text, length), random = mix(key);
        u32 next_negatives[EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++)
            next_negatives[k] = sample_negative(mix(random + (k * 32 + lane + 1) * GOLDEN), alias, words);
        random += NEGATIVE * GOLDEN;
        i64 passes = max(epochs, (least_steps + length - 1) / length);
        double fall = 1.0 / ((double)passes * length);
        for (i64 epoch = 0; epoch < passes; epoch++) {
            u64 subsampling_key = mix(key + epoch * GOLDEN);
            for (i64 from = 0; from < length; from += 32) {
                int here = from + lane < length ? text[from + lane] : 0;
                u32 found = __ballot_sync(FULL, from + lane < length && is_kept(here, from + lane, subsampling_key, keep_probability));
                for (; found; found &= found - 1) {
                    int at = __ffs(found) - 1;
                    u32 word = __shfl_sync(FULL, here, at);
                    float alpha = alpha_start * (1.0 - (epoch * length + from + at) * fall);
                    u32 negatives[EACH];
#pragma unroll
                    for (int k = 0; k < EACH; k++) {
                        negatives[k] = next_negatives[k];
                        next_negatives[k] = sample_negative(mix(random + (k * 32 + lane + 1) * GOLDEN), alias, words);
                    }
                    random += NEGATIVE * GOLDEN;
                    Part real = vectors.load(word), step = nothing();
                    float f = product(real, own), real_pull = 0, stays = 1.f;
                    bool known = false;
#pragma unroll
                    for (int first = 0; first < NEGATIVE; first += 7) {
                        constexpr int MOST = NEGATIVE < 7 ? NEGATIVE : 7;
                        Part others[MOST];
                        u32 rows[MOST];
                        float scores[MOST + 1];
#pragma unroll
                        for (int t = 0; t < MOST; t++) {
                            int k = first + t < NEGATIVE ? first + t : NEGATIVE - 1;
                            rows[t] = __shfl_sync(FULL, negatives[k / 32], k % 32);
                            others[t] = vectors.load(rows[t]);
                            scores[t] = product(others[t], own);
                        }
                        scores[MOST] = f;
                        if (known) team_totals<MOST>(scores, team.totals, turn);
                        else team_totals<MOST + 1>(scores, team.totals, turn);
                        f = scores[MOST];
                        known = true;
#pragma unroll
                        for (int t = 0; t < MOST; t++) {
                            if (first + t >= NEGATIVE || rows[t] == word) continue;
                            float h = scores[t], pull;
                            if (OBJECTIVE == VMF) {
                                pull = -alpha * kappa * __fdividef(1.f, 1.f + __expf(bias - kappa * h));
                            } else {
                                pull = f - h < margin ? -(2.f / NEGATIVE) * alpha * (1.f - f + h) : 0.f;
                                real_pull -= pull;
                            }
                            stays -= pull * h;
                            add(step, pull, others[t]);
                        }
                    }
                    if (OBJECTIVE == VMF) real_pull = alpha * kappa * (1.f - __fdividef(1.f, 1.f + __expf(bias - kappa * f)));
                    stays -= real_pull * f;
                    add(step, real_pull, real);
                    Part moved = combined(stays, own, 1.f, step);
                    square[0] = product(moved, moved);
                    team_totals<1>(square, team.totals, turn);
                    if (GEODESIC) {
                        float angle = sqrtf(fmaxf(square[0] - 1.f, 0.f));
                        if (angle >= 1e-3f) {
                            float along = sinf(angle) / angle;
                            moved = combined(cosf(angle) - along, own, along, moved);
                            square[0] = product(moved, moved);
                            team_totals<1>(square, team.totals, turn);
                        }
                    }
                    own = scaled(rsqrtf(square[0]), moved);
                }
            }
        }
        fitted.store(document, own);
    }
}

struct FitTeam {
    float totals[2 * 8 * TEAM];
    float own[STRIDE];  // the document's vector, for all lanes
    int document;
};

// Fit documents to the words by expected likelihood, as fit_weighted of cpu/fit_kernels.py. `ids` holds the different
// words of each document, `pulls` how much each of them pulls, `moments` the covariance of negative samples, `width` rows,
// and their mean in the row after it; other arguments as above.
extern "C" __global__ void __launch_bounds__(32 * TEAM) fit(
    const int* __restrict__ ids, const i64* __restrict__ offsets, const i64* __restrict__ order,
    const float* __restrict__ pulls, float* moment_rows, float* word_rows, float* document_rows, u64* next, i64 count,
    int width, int passes, float share, float kappa, float bias, float negative) {
    __shared__ FitTeam team;
    int lane = threadIdx.x % 32, turn = 0;
    int own_floats = threadIdx.x / 32 * SLICE + lane * VEC;
    Vectors vectors = vectors_of(word_rows), fitted = vectors_of(document_rows), moments = vectors_of(moment_rows);
    Part mean = moments.load(width);
    while (true) {
        team_barrier();
        if (threadIdx.x == 0) {
            u64 taken = atomicAdd(next, 1ull);
            team.document = taken < (u64)count ? (int)order[taken] : -1;
        }
        team_barrier();
        int document = team.document;
        if (document < 0) return;
        i64 start = offsets[document], length = offsets[document + 1] - start;
        const int* text = ids + start;
        const float* own_pulls = pulls + start;

        Part own = nothing();
        float total = 0;
        for (i64 from = 0; from < length; from += 32) {
            int word = from + lane < length ? text[from + lane] : 0;
            float weight = from + lane < length ? own_pulls[from + lane] : 0.f;
            int here = min(32ll, length - from);
#pragma unroll 4
            for (int i = 0; i < here; i++) {
                float one = __shfl_sync(FULL, weight, i);
                add(own, one, vectors.load(__shfl_sync(FULL, word, i)));
                total += one;
            }
        }
        float square[1] = {product(own, own)};
        team_totals<1>(square, team.totals, turn);
        if (!(square[0] > 1e-12f)) continue;
        own = scaled(rsqrtf(square[0]), own);

        for (int pass = 0; pass < passes; pass++) {
            Part pulled = nothing(), spread = nothing();
            for (i64 from = 0; from < length; from += 32) {
                int word = from + lane < length ? text[from + lane] : 0;
                float weight = from + lane < length ? own_pulls[from + lane] : 0.f;
                int here = min(32ll, length - from);
                for (int i = 0; i < here; i += 4) {
                    Part rows[4];
                    float scores[4];
#pragma unroll
                    for (int t = 0; t < 4; t++) {
                        rows[t] = vectors.load(__shfl_sync(FULL, word, i + t < here ? i + t : i));
                        scores[t] = product(rows[t], own);
                    }
                    team_totals<4>(scores, team.totals, turn);
#pragma unroll
                    for (int t = 0; t < 4; t++) {
                        float pull = __shfl_sync(FULL, weight, i + t < here ? i + t : i);
                        if (i + t < here) add(pulled, __fdividef(pull, 1.f + __expf(kappa * scores[t] - bias)), rows[t]);
                    }
                }
            }
            team_barrier();
            if (vectors.holds)
#pragma unroll
                for (int i = 0; i < VEC; i++) team.own[own_floats + i] = own.x[i];
            team_barrier();
#pragma unroll 4
            for (int d = 0; d < width; d++) add(spread, team.own[d], moments.load(d));
            float sums[3] = {product(mean, own), product(spread, own), product(pulled, pulled)};
            team_totals<3>(sums, team.totals, turn);
            float variance = kappa * kappa * sums[1], root = sqrtf(1.f + 0.39269908f * variance);
            float likely = __fdividef(1.f, 1.f + __expf((bias - kappa * sums[0]) / root));
            float slope = likely * (1.f - likely) / root, negatives = total * negative;
            float curvature = sqrtf(sums[2]) + negatives * slope * variance;
            if (!(curvature > 1e-12f)) break;
            add(pulled, -negatives * likely, mean);
            add(pulled, -negatives * slope * kappa, spread);
            float along[1] = {product(pulled, own)};
            team_totals<1>(along, team.totals, turn);
            float step = share / curvature;
            pulled = combined(1.f - step * along[0], own, step, pulled);
            square[0] = product(pulled, pulled);
            team_totals<1>(square, team.totals, turn);
            if (square[0] > 1e-12f) own = scaled(rsqrtf(square[0]), pulled);
        }
        fitted.store(document, own);
    }
}
#endif
